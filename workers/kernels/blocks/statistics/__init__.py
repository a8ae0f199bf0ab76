"""What is counted and measured of blocks, and how parts are put together."""
