"""Keras's backends TensorFlow and JAX: each compiles the batches of a round to one function."""
