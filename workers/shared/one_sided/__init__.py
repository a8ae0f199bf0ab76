"""Arrays that all ranks read and write at any time: in place on a host, by messages between hosts."""
