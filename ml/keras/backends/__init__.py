"""What runs the batches of a round: one compiled function of TensorFlow or of JAX."""
