"""Messages between ranks, and what carries them."""
