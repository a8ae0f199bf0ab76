"""Reading what isn't in arenas: the user's arrays, files, stores; and what I/O threads do for it."""
