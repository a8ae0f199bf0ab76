"""Elements at other places: nothing is computed."""
