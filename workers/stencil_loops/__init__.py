"""Loops that stay with the ranks: slabs of rows with margins, exchanged between neighbours, step after step."""
