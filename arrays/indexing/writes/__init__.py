"""Setting elements: a new expression behind the same name."""
