"""Reading and writing files: Windrow's own folders of Arrow files, `.npy`, Parquet. No chunk goes through rank 0."""
