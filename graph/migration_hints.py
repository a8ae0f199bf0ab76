"""What other packages call things: why a name isn't here, and what it is called. Loaded when such a name is used."""

from __future__ import annotations

HINTS = {
    "split_every": "how many partial results are combined at once follows from their bytes",
    "threshold": "rechunk() needs no steps in between",
    "optimize_graph": "graphs are always optimised",
}
"""Keywords that tell dask how to do what is asked for, not what: they are taken, and say nothing here."""

COMPUTING = ("compute", "persist", "store"), ("scheduler", "num_workers", "traverse", "pool")
"""Functions that compute, and keywords that tell dask by what: here it is the cluster in any case."""

KEYWORDS = {
    "scheduler": "the cluster computes: windrow.Cluster(ranks=…), mpirun, or without either this process's threads",
    "n_workers": "windrow.Cluster(ranks=…) is what starts processes",
    "num_workers": "windrow.Cluster(threads=…) or the setting 'threads' say how many threads a rank has",
    "threads_per_worker": "windrow.Cluster(threads=…) says how many threads a rank has",
    "nthreads": "windrow.Cluster(threads=…) says how many threads a rank has",
    "processes": "windrow.Cluster(ranks=…) is what starts processes",
    "max_workers": "as many calls run at once as the cluster has threads; windrow.Cluster(ranks=…, threads=…) says how "
    "many, and cores= how many of them each call takes",
    "memory": "windrow.plan(x, memory=…) looks for chunks that fit, windrow.Cluster(memory=…) is how much there is",
    "ranks": "windrow.plan(x, ranks=…) looks for chunks that suit so many, windrow.Cluster(ranks=…) starts them",
    "memory_limit": "windrow.Cluster(memory=…) says how many bytes chunks may take on all ranks",
    "block_size_limit": "chunks='64 MiB', or the setting 'chunk_bytes', says how large chunks become",
    "limit": "chunks='64 MiB', or the setting 'chunk_bytes', says how large chunks become",
    "balance": "chunks of one size are what rechunk(n) gives",
    "merge_chunks": "chunks= says what chunks the result has",
    "asarray": "chunks are always NumPy arrays",
    "fancy": "sources are asked for slices only",
    "getitem": "sources are asked for slices by []; map_blocks() with chunks= and dtype= reads in a way of its own",
    "meta": "dtype= tells the dtype; chunks are always NumPy arrays",
    "name": "operations have the name of their function",
    "token": "operations have the name of their function",
    "lower": "upper=True gives the upper triangle, where dask has lower=False; the lower one is what NumPy gives",
    "assume_a": "what kind of matrix it is need not be said; cholesky() and solve_triangular() use it",
    "sym_pos": "what kind of matrix it is need not be said; cholesky() and solve_triangular() use it",
    "like": "chunks are always NumPy arrays",
    "order": "chunks lie in C order",
    "backend": "chunks are always NumPy arrays",
    "pure": "functions are taken to give the same for the same chunk",
    "resources": "tasks run where their first input lies",
    "priority": "what was asked for last doesn't wait: computations share the ranks",
    "retries": "a lost chunk is computed again by itself; a function that raises is not called again",
}
"""Keywords of dask's and others', for functions that don't have them."""

_CLUSTER = (
    "windrow.Cluster(ranks=…) starts ranks; under mpirun they are there already, and windrow.cluster() tells about them"
)
_DELAYED = (
    "map_blocks(function, chunks=…, dtype=…) calls a function for each chunk; from_array() takes what can be sliced"
)
_STORE = "open it, and store() writes to anything that has [slices] = …, from_array() reads anything that has [slices]"
_NETCDF = (
    "from_hdf5(path, name) reads a variable of a netCDF-4 file, "
    "xarray.open_dataset(path, chunks={}, chunked_array_type='windrow') all of them"
)

FUNCTIONS = {
    "Client": _CLUSTER,
    "LocalCluster": _CLUSTER,
    "get_client": _CLUSTER,
    "from_netcdf": _NETCDF,
    "open_netcdf": _NETCDF,
    "read_netcdf": _NETCDF,
    "open_dataset": _NETCDF,
    "from_func": _DELAYED,
    "from_tiledb": f"a TileDB array: {_STORE}",
    "to_tiledb": f"a TileDB array: {_STORE}",
    "image": "map_blocks() with chunks= reads an image for each chunk",
    "optimize": "graphs are always optimised; explain() shows what will run",
    "progress": "the setting 'progress' shows what runs",
    "register_chunk_type": "chunks are always NumPy arrays",
    "PerformanceWarning": "explain() warns of what is costly",
    "atop": "blockwise()",
    "elemwise": "ufuncs take arrays; map_blocks() any function",
    "frompyfunc": "vectorize(), whose results aren't objects",
    "fft_wrap": "windrow.fft has NumPy's functions, and apply_along_axis() takes others",
    "boundaries": "overlap() takes depth= and boundary=",
    "lib": "windrow.sliding_window_view() is a function",
    "asarray_safe": "asarray()",
    "set_options": "windrow.config has the settings",
    "array_split_chunks": "rechunk()",
}
"""Names of dask's and others' modules."""

METHODS = {
    "dask": "graph() is the graph of operations, graph(level='tasks') that of the tasks",
    "name": "arrays have no names of their own",
    "key": "arrays have no names of their own",
    "to_dask_dataframe": "to_parquet() and to_arrow() give tables",
    "to_dataframe": "to_parquet() and to_arrow() give tables",
    "to_tiledb": f"to a TileDB array: {_STORE}",
    "to_svg": "a notebook shows it; visualize() draws the operations",
    "to_backend": "chunks are always NumPy arrays",
    "optimize": "graphs are always optimised; explain() shows what will run",
    "A": "x itself is the array",
    "to_numpy": "compute() gives NumPy's",
    "numpy": "compute() gives NumPy's",
    "values": "compute() gives NumPy's",
    "get": "compute() gives NumPy's",
    "cpu": "compute() gives NumPy's",
    "todense": "chunks are never sparse: compute() gives NumPy's",
    "toarray": "compute() gives NumPy's",
    "to": "astype() casts; there is one device",
    "type": "astype() casts; dtype tells",
    "mask": "chunks have no masks: NaN, or an array of bool beside it, stands for what is missing",
    "filled": "chunks have no masks: NaN, or an array of bool beside it, stands for what is missing",
}
"""Attributes of dask's arrays and others'."""

MASKED = (
    "chunks have no masks: keep NaN where elements are missing and use nanmean() and its kin, or keep an array of bool "
    "beside the other and use where=, as in x.mean(where=~missing)"
)


class Ma:
    """Stands where NumPy and dask have masked arrays: every name tells what to do instead."""

    def __getattr__(self, name: str) -> object:
        raise AttributeError(f"windrow.ma.{name}: masked arrays are not here: {MASKED}")

    def __repr__(self) -> str:
        return f"<windrow.ma: masked arrays are not here: {MASKED}>"
