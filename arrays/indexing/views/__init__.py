"""Arrays seen otherwise: chunks as arrays, elements by number, points."""
