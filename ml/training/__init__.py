"""Training on shards of the rows: rounds, averages, asynchronous epochs, and the state that they move."""
