"""The kinds of operation. A kind says what its result looks like and which input blocks a block reads."""
