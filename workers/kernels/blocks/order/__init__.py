"""Blocks in order: sorted, searched, permuted, and what stands at a rank."""
