"""What the arguments of functions of images are."""

from __future__ import annotations

_MODES = (
    'what lies beyond the ends: "reflect" (d c b a | a b c d), "constant", "nearest", "mirror" (d c b | a b c d), '
    '"wrap", or their "grid-" forms'
)

ABOUT = {
    "input": "array_like: The array; it keeps its chunks, each of which is read with a margin of its neighbours.",
    "weights": "array_like: The weights, as many axes as are filtered; small, computed at once where lazy.",
    "output": "dtype, optional: Of the result; None: what SciPy makes of this input. Arrays to fill are refused.",
    "mode": f"str or sequence of str: For all axes or each, {_MODES}.",
    "cval": 'scalar: What lies beyond the ends where the mode is "constant".',
    "origin": "int or sequence of int: By how much the filter is shifted, for all axes or each.",
    "axes": "tuple of int, optional: The axes that are filtered; None: all.",
    "axis": "int: The axis that is filtered.",
    "size": "int or sequence of int: How long the filter is, along all axes or each.",
    "footprint": "array_like, optional: True where the filter sees an element; instead of `size`.",
    "structure": "array_like, optional: The structuring element; None: flat, or the nearest neighbours.",
    "sigma": "scalar or sequence of scalar: Standard deviation of the Gaussian, for all axes or each.",
    "order": "int or sequence of int: Of the derivative of the Gaussian; 0: the Gaussian itself.",
    "truncate": "float: At how many standard deviations the Gaussian is cut off.",
    "radius": "int or sequence of int, optional: Where it is cut off instead, in elements.",
    "rank": "int: Which element in ascending order is taken; from the last on where negative.",
    "percentile": "scalar: Which percentile is taken, from -100 to 100.",
    "function": "callable: What is called with the elements under the footprint; it is pickled now.",
    "filter_size": "int: How long the filter is.",
    "extra_arguments": "sequence: Passed on to the function.",
    "extra_keywords": "mapping, optional: Passed on to the function.",
    "derivative": "callable: `derivative(input, axis, output, mode, cval)`.",
    "derivative2": "callable: `derivative2(input, axis, output, mode, cval)`.",
    "iterations": "int: How often it is done; below 1: until nothing changes.",
    "mask": "array_like, optional: Elements are changed only where it is true; in the shape of `input`.",
    "border_value": "int: What lies beyond the ends, 0 or 1.",
    "brute_force": "bool: Whether SciPy looks at all elements in each iteration.",
    "structure1": "array_like, optional: What has to be there; None: nearest neighbours.",
    "structure2": "array_like, optional: What mustn't be there; None: the complement of `structure1`.",
    "origin1": "int or sequence of int: By how much `structure1` is shifted.",
    "origin2": "int or sequence of int, optional: By how much `structure2` is shifted; None: as `origin1`.",
    "kwargs": "scalar: `truncate` and `radius`, as `gaussian_filter` has them.",
    "labels": "array_like, optional: A label for each element, in the shape of `input`; None: all have the same.",
    "index": "int or sequence of int, optional: Labels that are measured; None: all elements whose label isn't 0.",
    "min": "scalar: Where the first bin begins.",
    "max": "scalar: Where the last bin ends.",
    "bins": "int: The number of bins.",
    "max_label": "int: The largest label that is looked for; 0: all.",
    "prefilter": "bool: Whether splines are made of `input` first; False: it holds their coefficients already.",
    "zoom": "float or sequence of float: By how much each axis gets longer.",
    "shift": "float or sequence of float: By how much the elements move along each axis.",
    "angle": "float: In degrees.",
    "reshape": "bool: Whether the result is large enough for all of the turned array.",
    "matrix": "array_like: The matrix that leads from places in the result to places in `input`, also homogeneous.",
    "offset": "float or sequence of float: Where in `input` the result begins.",
    "output_shape": "tuple of int, optional: Shape of the result; None: that of `input`.",
    "coordinates": "array_like: Places in `input`: a first axis with an entry for each of its axes.",
    "grid_mode": "bool: Whether elements are areas rather than points.",
    "n": "int: Length of the axis before a real transform; negative: the transform was complex.",
    "rank_": "int: Number of axes.",
    "spline_order": "int: Of the splines, 0 to 5.",
}


def pick(**other: str) -> dict[str, str]:
    """Return what arguments are, some of them told otherwise."""
    return ABOUT | other
