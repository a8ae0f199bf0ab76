"""Bodies of loops in which each element follows from elements nearby: found, and written as a plan for slabs."""
