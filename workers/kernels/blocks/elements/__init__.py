"""Elements of blocks: chosen, counted, compared, packed, put where they belong."""
