"""`get` and `persist`, by dask's protocol of schedulers. dask is imported by what they call."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


class Ranks:
    """What dask takes for a scheduler: the ranks of the present cluster."""

    def get(self, dsk: Any, keys: Any, **options: Any) -> Any:
        """Compute keys of a graph as tasks on the ranks: dask calls it, where it is the `scheduler=`.

        Parameters
        ----------
        dsk : dask expression or dict
            The graph.
        keys : key, or list of such, however deep
            What to compute.
        **options
            `retries` and `priority` are those of tasks, as are `dask.annotate`'s; `callbacks` are dask's;
            `cache` has values by key. `num_workers`, `pool`, `workers`, `resources` and others are ignored: the ranks
            are those of the cluster.

        Returns
        -------
        object
            The values, in tuples laid out as the keys are.

        Raises
        ------
        Exception
            What a task raised, with a note that says where.
        ClusterError
            Too many ranks died at a task; the cluster was closed.

        >>> import dask.array as da
        >>> import windrow as wr
        >>> x = da.ones((4, 4), chunks=2)
        >>> x.sum().compute(scheduler=wr.dask.get)
        np.float64(16.0)
        """
        return _computing().get(dsk, keys, options)

    def persist(self, collections: Iterable[Any], *, optimize_graph: bool = True, **options: Any) -> Any:
        """Begin to compute collections, and keep their parts on the ranks; `dask.persist` calls it.

        Parameters
        ----------
        collections : list of dask collections
            What to compute.
        optimize_graph : bool
            Whether dask optimises their graphs first.
        **options
            See `get`.

        Returns
        -------
        tuple of dask collections
            The same, of parts that stay on the ranks as long as the collections live.

        >>> import dask.array as da
        >>> import windrow as wr
        >>> (x,) = wr.dask.persist([da.arange(6, chunks=2)])
        >>> x.sum().compute(scheduler=wr.dask.get)
        np.int64(15)
        """
        return _computing().persist(collections, optimize_graph, options)


def _computing() -> Any:
    return importlib.import_module(f"{__package__}.computing")


ranks = Ranks()
get, persist = ranks.get, ranks.persist
