"""News of a rank's death, and what is cleaned up after one."""
