"""Columns of files: CSV, Parquet, Arrow IPC."""
