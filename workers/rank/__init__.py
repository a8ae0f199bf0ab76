"""What one rank does: its command loop, its threads, running programs, where their inputs come from."""
