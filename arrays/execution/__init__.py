"""Running arrays: compute and persist, operations that must know values first, single elements."""
