"""Methods that look at an array. What they need is loaded when they are called first: most programs never look."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ..base import ArrayBase

if TYPE_CHECKING:
    import networkx

    from ..typing import PathLike
    from .explain import Explanation


class Looks(ArrayBase):
    """What shows an array and what it is made from; nothing is computed."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(_load("html").array_html(self))

    def _repr_inline_(self, max_width: int) -> str:
        """For a line of xarray's."""
        text = "windrow.Array" if self._unsized is not None else f"windrow.Array<chunksize={self.chunksize}>"
        return text if len(text) <= max_width else text[: max_width - 3] + "..."

    def explain(self) -> Explanation:
        """Return what computing the array would do: stages, tasks, bytes and the critical path; nothing runs.

        Returns
        -------
        Explanation
            Its stages, critical path and notes; printed, a table. `windrow.explain` takes several arrays.

        >>> [stage.name for stage in (wr.ones((1000, 1000), chunks=500) + 1).sum().explain().stages]
        ['ones+add+sum (partial)', 'sum']
        """
        explanation: Explanation = _load("explain").explain(self)
        return explanation

    def graph(
        self, level: str = "operations", limit: int = 10_000, block: int | tuple[int, ...] | None = None
    ) -> networkx.DiGraph:
        """Return what the array is made from as a graph: by operation, by stage, or by chunk task; nothing is computed.

        Parameters
        ----------
        level : {"operations", "stages", "tasks"}
            Which graph: that of `windrow.operation_graph`, `windrow.stage_graph` or `windrow.task_graph`.
        limit : int
            How many tasks a graph of tasks may have.
        block : int or tuple of int, optional
            The index of a chunk: a graph of tasks has what that chunk alone is made from.

        Returns
        -------
        networkx.DiGraph
            An edge leads from what is read to its reader.

        Raises
        ------
        ArgumentError
            There is no such level, there are more tasks than `limit`, or `block` is given at another level.
        IndexingError
            There is no such chunk.

        >>> x = wr.ones((4, 4), chunks=2) + 1
        >>> [x.graph(level).number_of_nodes() for level in ("operations", "stages", "tasks")]
        [2, 1, 1]
        """
        graph: networkx.DiGraph = _load("chunk_graphs").graph_of(self, level, limit, block)
        return graph

    def visualize(self, filename: PathLike | None = None, level: str | None = None, limit: int = 500) -> Any:
        """Draw what the array is made from: operations and the stages that would run, or chunk tasks; nothing runs.

        Parameters
        ----------
        filename : str or os.PathLike, optional
            A path ending in .svg, or .png, for which matplotlib is needed. None: nothing is written.
        level : {"operations", "stages", "tasks"}, optional
            What is drawn; None: the operations, and the stages below.
        limit : int
            How many tasks may be drawn.

        Returns
        -------
        str or Picture
            The path; without one a picture that a notebook shows. `windrow.visualize` draws several arrays.

        Raises
        ------
        ArgumentError
            There is no such level, there are more tasks than `limit`, the path has another ending, or matplotlib is
            missing for .png.
        MissingFile
            There is no folder to write the file in.
        OSError
            The file can't be written.

        >>> (wr.ones(3) + 1).visualize()
        <picture of 3 boxes; visualize('graph.svg') writes it to a file>
        """
        return _load("visualize").visualize(self, filename=filename, level=level, limit=limit)


def _load(module: str) -> Any:
    return importlib.import_module(f".{module}", __package__)
