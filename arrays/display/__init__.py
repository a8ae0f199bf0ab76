"""Looking at arrays: HTML, pictures and graphs of operations, what a computation would do."""
