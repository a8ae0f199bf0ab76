"""What docstrings of estimators say of arguments and errors that many have in common, written once."""

from __future__ import annotations

from ..workers.docstrings import Glossary

ESTIMATORS = Glossary("""
{X}
X : array of shape (rows, features)
    Real numbers. If any argument is a Windrow array, the model is fitted to all its chunks; else this is
    scikit-learn's `fit`.
{no_y}
y : None
    Not used.
{sample_weight}
sample_weight : array of shape (rows,), optional
    Weights of the rows. None: all are equal.
{BadValue}
BadValue
    A number is NaN or infinite, a weight is negative, or all are zero.
{DTypeError}
DTypeError
    `X` isn't of numbers.
{ShapeError}
ShapeError
    `X` isn't 2-D, or has no rows or no features; `y` or `sample_weight` doesn't have one entry for each row.
{ValueError}
ValueError
    Raised by scikit-learn: a parameter has a value that it doesn't accept.
""")
