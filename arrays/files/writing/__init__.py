"""Writing: atomically, with one writer to a path at a time, to URLs, and into others' arrays."""
