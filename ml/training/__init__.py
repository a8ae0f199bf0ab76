"""Training on shards of the rows: one loop, the rounds that it runs, and the state that they move.

A framework needs an adapter, as `steps` is for a user's own step, `averaging` for scikit-learn and `keras` for Keras.
It has two classes:

- A work, which travels to the ranks: `work(state, own, Round, *rows) -> (state, own, RoundMetrics)` trains on a shard's
  rows for one round. The state is averaged, `own` stays with its shard, as an optimiser's slots do; both are arrays in
  any nesting. For averages of gradients it has a second such function, which gives a batch's gradient for a state, and
  `update(state, slots, gradient) -> (state, slots)`, the optimiser's step.
- A `Trainable`, which stays on the driver. It has the work, the state as it starts, the names of what rounds tell, and
  the epochs. `score` makes an epoch's numbers of what its rounds told; `begin` and `end` are called around each epoch,
  and `end` returns whether it was the last one. `update` is what becomes of the state when the mean is known: outer
  steps, or the optimiser's.

It calls, in this order: `Averaging(…)`, which checks when states are averaged; `cut_shards`; `find_batch_size`, where
that is asked for; `start_rounds`; `run_epochs`, within the model's `progress`. Then `rounds.state` is what was learnt,
and `history` what the epochs told.
"""
