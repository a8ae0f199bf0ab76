"""Rank programs: what the members of a gang talk through where they are threads of one process."""
