"""What bounds memory and keeps order: how far tasks run ahead, whose turn it is, what is refused."""
