"""Labels, and what is measured of elements that share one."""
