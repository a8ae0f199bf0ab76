"""A Keras model on ranks: the recipe to make copies, its state, and a rank's copies."""
