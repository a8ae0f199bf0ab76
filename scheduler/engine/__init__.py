"""The engine: the one loop on rank 0 that talks to all ranks, and its parts."""
