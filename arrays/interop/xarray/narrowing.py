"""What `apply_ufunc(output_dtypes=…)` says of a function is believed by dask's arrays; Windrow's have that dtype."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...user_functions.travel.pickling import name_of

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Watched:
    """A function that warns where its result loses digits, or range, as it is cast to the dtype that was said."""

    function: Callable[..., Any]
    dtypes: tuple[Any, ...]

    @property
    def __name__(self) -> str:
        return name_of(self.function)

    def __call__(self, *blocks: Any, **keywords: Any) -> Any:
        """Call the function; return what it returns."""
        result = self.function(*blocks, **keywords)
        parts = result if isinstance(result, tuple) and len(result) == len(self.dtypes) else (result,)
        for part, dtype in zip(parts, map(np.dtype, self.dtypes), strict=False):
            own = getattr(part, "dtype", dtype)
            if not np.can_cast(own, dtype, "safe") and np.can_cast(own, dtype, "same_kind"):
                warnings.warn(
                    f"apply_ufunc: {self.__name__!r} returned {own}, which is cast to {dtype} as output_dtypes= says "
                    f"(dask would leave it {own}); expected that dtype, or a function that casts itself",
                    stacklevel=1,
                )
        return result
