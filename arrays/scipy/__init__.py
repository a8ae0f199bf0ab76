"""SciPy's names on chunks: `windrow.ndimage`, `windrow.signal`, `windrow.stats`; `bridge` tries and calls SciPy."""
