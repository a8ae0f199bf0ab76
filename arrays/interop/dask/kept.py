"""Nodes of persisted collections: their values are with the ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .layout import DataNode, Task, run_subgraph

if TYPE_CHECKING:
    from collections.abc import Hashable

    from ....scheduler.tasks.future import Future


class KeptKey(DataNode):  # type: ignore[misc] # dask has no types
    """A key whose value a future stands for. Other schedulers of dask's fetch the value."""

    __slots__ = ("future",)
    __dask_future__ = True

    def __init__(self, key: Hashable, future: Future) -> None:
        super().__init__(key, None)
        self.future = future

    @property
    def value(self) -> Any:
        """The value, fetched from its rank."""
        return self.future.result()

    @value.setter
    def value(self, _: None) -> None:
        """Take no value: the future has it."""

    @property
    def typ(self) -> type:
        """The type of the value, which is fetched."""
        return type(self.value)

    @typ.setter
    def typ(self, _: type) -> None:
        """Take no type: that of the value counts."""

    @property
    def block_fusion(self) -> bool:
        """Whether dask leaves this node as it is: yes."""
        return True

    def __call__(self, values: Any = ()) -> Any:
        return self.value

    def copy(self) -> KeptKey:
        """Return a node for the same future."""
        return KeptKey(self.key, self.future)

    def substitute(self, subs: Any, key: Hashable = None) -> KeptKey:
        """Return a node for the same future, under another key."""
        return self if key is None or key == self.key else KeptKey(key, self.future)

    def done(self) -> bool:
        """Tell whether the value is there."""
        return self.future.done()

    def result(self, timeout: float | None = None) -> Any:
        """Return the value; see `windrow.Future`."""
        return self.future.result(timeout)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __reduce__(self) -> Any:
        try:
            self.future.__reduce__()
        except TypeError:  # no task takes it: the user pickles a collection, with its values
            return DataNode, (self.key, self.value)
        return DataNode, (self.key, self.future)

    def __dask_tokenize__(self) -> Any:
        return type(self).__name__, self.future.name, id(self.future)

    def __sizeof__(self) -> int:
        return 64

    def __repr__(self) -> str:
        return f"<KeptKey {self.key!r} {self.future!r}>"


def find_inner(node: Any, kind: type) -> list[Any]:
    """Return the nodes of a kind that dask has put into another one."""
    inner, pending = [], [node]
    while pending:
        each = pending.pop()
        if type(each) is kind:
            inner.append(each)
            continue
        if not isinstance(each, Task):
            continue
        if each.func is run_subgraph:
            pending += each.args[0].values()
        pending += each.args
        pending += each.kwargs.values()
    return inner
