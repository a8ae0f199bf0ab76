"""Training on shards of the rows: one loop, the rounds that it runs, and the state that they move.

A framework needs an adapter, as `steps` is for a user's own step, `averaging` for scikit-learn and `keras` for Keras.
It gives two classes of `loop`:

- `ShardWork`, which travels to the ranks. A call trains on a shard's rows for one round: from the averaged state, what
  the shard keeps (an optimiser's slots), the `Round` and the rows to a new state, what is kept, and `RoundMetrics`. For
  averaged gradients `gradient` gives that of the shard's part of a batch, and `update` is the optimiser's step.
- `Trainable`, which stays on the driver. It has the work, what states are as they start (nested arrays), names and
  numbers of what rounds tell, epochs, and the rounds of one. `score` makes an epoch's numbers of what its rounds told;
  `begin` and `ends` are called before and after each epoch; `start_gradients` says where averages of gradients start.

And it calls, in this order: `Averaging(…)`, which checks when states are averaged; `cut_shards`; `find_batch_size`, if
it is to be measured; `start_rounds`; `run_epochs`, within the model's `progress`. Then `rounds.state` is what was
learnt, and `history` what the epochs told.
"""
