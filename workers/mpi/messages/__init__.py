"""Messages between MPI processes, and how ranks sleep until there are some."""
