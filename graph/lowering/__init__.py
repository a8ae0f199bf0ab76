"""From expressions to stages and their programs, and what of that is remembered."""
