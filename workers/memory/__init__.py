"""Memory of a rank: its limit and pressure, spill files, what tasks take beside their slabs."""
