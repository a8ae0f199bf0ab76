"""Users' own functions of chunks, axes and elements: `map_blocks`, `blockwise`, `apply_gufunc` and their like."""
