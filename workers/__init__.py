"""What a rank does: its arena, its command loop, running programs, and the ways between ranks."""
