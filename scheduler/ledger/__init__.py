"""What is known of every task and chunk, and the rules by which it changes. No I/O, no clock."""
