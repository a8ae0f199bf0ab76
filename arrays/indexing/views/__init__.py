"""Views for indexing: chunks as arrays, elements by number, points."""
