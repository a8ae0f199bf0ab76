"""Training by averaging: models trained on shards of the rows, and the average of their states."""
