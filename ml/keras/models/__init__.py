"""A Keras model as it travels: its recipe, its state, and the copies that a rank has of it."""
