"""Computations that estimators share: principal directions, nearest centres, the logistic objective, docstrings."""
