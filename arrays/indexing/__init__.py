"""Reading and setting elements: keys, `x[key]`, `x[key] = value`, masks, positions, and views for indexing."""
