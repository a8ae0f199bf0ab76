"""What stands behind functions that SciPy computes: its modules, tried on small arrays first; their documents."""
