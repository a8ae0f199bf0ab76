"""Factorisations, and what follows from them."""
