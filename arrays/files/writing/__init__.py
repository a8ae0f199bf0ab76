"""Writing: whole or not at all, one writer at a place at a time, to URLs, into others' arrays."""
