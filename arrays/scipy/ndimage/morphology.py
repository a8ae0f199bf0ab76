"""Morphology of arrays of grey values."""

from __future__ import annotations

from .local import footprint_reach, local

grey_erosion = local(
    "grey_erosion",
    footprint_reach(),
    "Erode: take the least of neighbours, the structuring element subtracted.",
    "grey_erosion(wr.arange(6, chunks=2), size=3)",
    "array([0, 0, 1, 2, 3, 4])",
)
grey_dilation = local(
    "grey_dilation",
    footprint_reach(),
    "Dilate: take the greatest of neighbours, the structuring element added.",
    "grey_dilation(wr.arange(6, chunks=2), size=3)",
    "array([1, 2, 3, 4, 5, 5])",
)
grey_opening = local(
    "grey_opening",
    footprint_reach(2),
    "Erode, then dilate.",
    "grey_opening(wr.asarray([0, 5, 0, 3, 3, 3], chunks=2), size=3)",
    "array([0, 0, 0, 3, 3, 3])",
)
grey_closing = local(
    "grey_closing",
    footprint_reach(2),
    "Dilate, then erode.",
    "grey_closing(wr.asarray([5, 0, 5, 3, 3, 3], chunks=2), size=3)",
    "array([5, 5, 5, 3, 3, 3])",
)
morphological_gradient = local(
    "morphological_gradient",
    footprint_reach(),
    "Subtract the eroded array from the dilated one.",
    "morphological_gradient(wr.arange(6, chunks=2), size=3)",
    "array([1, 2, 2, 2, 2, 1])",
)
morphological_laplace = local(
    "morphological_laplace",
    footprint_reach(),
    "Add the dilated and the eroded array, and subtract the array twice.",
    "morphological_laplace(wr.arange(6, chunks=2) ** 2, size=3)",
    "array([ 1,  2,  2,  2,  2, -9])",
)
white_tophat = local(
    "white_tophat",
    footprint_reach(2),
    "Subtract the opened array: what is bright and small stays.",
    "white_tophat(wr.asarray([0, 5, 0, 3, 3, 3], chunks=2), size=3)",
    "array([0, 5, 0, 0, 0, 0])",
)
black_tophat = local(
    "black_tophat",
    footprint_reach(2),
    "Subtract the array from the closed one: what is dark and small stays.",
    "black_tophat(wr.asarray([5, 0, 5, 3, 3, 3], chunks=2), size=3)",
    "array([0, 5, 0, 0, 0, 0])",
)
