"""The systems: a file each, with a function `opened(variant)`."""
