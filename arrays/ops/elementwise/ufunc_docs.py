"""A summary and an example for each ufunc.

All ufuncs have the same parameters, so `describe` writes the other sections.
"""

from __future__ import annotations

_TEXT = """
absolute: Return the absolute values; of complex numbers, the moduli.
>>> wr.absolute(wr.array([-1.5, 2.0])).compute()
array([1.5, 2. ])

add: Add elements; join texts.
>>> wr.add(wr.array([1, 2]), 10).compute()
array([11, 12])

arccos: Return the angles, in radians from 0 to pi, whose cosines the elements are.
>>> wr.arccos(wr.array([1.0, 0.0])).compute().round(3)
array([0.   , 1.571])

arccosh: Return the numbers whose hyperbolic cosines the elements are.
>>> wr.arccosh(wr.array([1.0, 2.0])).compute().round(3)
array([0.   , 1.317])

arcsin: Return the angles, in radians from -pi/2 to pi/2, whose sines the elements are.
>>> wr.arcsin(wr.array([0.0, 1.0])).compute().round(3)
array([0.   , 1.571])

arcsinh: Return the numbers whose hyperbolic sines the elements are.
>>> wr.arcsinh(wr.array([0.0, 1.0])).compute().round(3)
array([0.   , 0.881])

arctan: Return the angles, in radians from -pi/2 to pi/2, whose tangents the elements are.
>>> wr.arctan(wr.array([0.0, 1.0])).compute().round(3)
array([0.   , 0.785])

arctan2: Return the angles, in radians from -pi to pi, of the points (x2, x1).
>>> wr.arctan2(wr.array([1.0, -1.0]), [0.0, 0.0]).compute().round(3)
array([ 1.571, -1.571])

arctanh: Return the numbers whose hyperbolic tangents the elements are.
>>> wr.arctanh(wr.array([0.0, 0.5])).compute().round(3)
array([0.   , 0.549])

bitwise_and: Return the bits that are set in both operands.
>>> wr.bitwise_and(wr.array([6, 5]), 3).compute()
array([2, 1])

bitwise_count: Count the bits that are set in the absolute values of integers.
>>> wr.bitwise_count(wr.array([5, 8])).compute()
array([2, 1], dtype=uint8)

bitwise_or: Return the bits that are set in at least one operand.
>>> wr.bitwise_or(wr.array([6, 5]), 3).compute()
array([7, 7])

bitwise_xor: Return the bits that are set in exactly one operand.
>>> wr.bitwise_xor(wr.array([6, 5]), 3).compute()
array([5, 6])

cbrt: Return the cube roots.
>>> wr.cbrt(wr.array([8.0, -27.0])).compute()
array([ 2., -3.])

ceil: Round up to integers, in the dtype of the elements.
>>> wr.ceil(wr.array([1.2, -1.2])).compute()
array([ 2., -1.])

conjugate: Return the complex conjugates.
>>> wr.conjugate(wr.array([1 + 2j, 3 - 1j])).compute()
array([1.-2.j, 3.+1.j])

copysign: Return the elements of the first operand with the signs of the second.
>>> wr.copysign(wr.array([1.0, 2.0]), [-1.0, 1.0]).compute()
array([-1.,  2.])

cos: Return the cosines of angles in radians.
>>> wr.cos(wr.array([0.0, 1.0])).compute().round(3)
array([1.  , 0.54])

cosh: Return the hyperbolic cosines.
>>> wr.cosh(wr.array([0.0, 1.0])).compute().round(3)
array([1.   , 1.543])

deg2rad: Convert degrees to radians.
>>> wr.deg2rad(wr.array([90.0, 180.0])).compute().round(3)
array([1.571, 3.142])

degrees: Convert radians to degrees.
>>> wr.degrees(wr.array([0.5, 1.0])).compute().round(3)
array([28.648, 57.296])

divide: Divide elements; the quotients of integers are floating-point numbers.
>>> wr.divide(wr.array([1, 9]), 4).compute()
array([0.25, 2.25])

divmod: Return the quotients, rounded down, and the remainders.
>>> wr.compute(*wr.divmod(wr.array([7, -7]), 3))
(array([ 2, -3]), array([1, 2]))

equal: Tell which elements are equal.
>>> wr.equal(wr.array([1, 2]), [1, 3]).compute()
array([ True, False])

exp: Return e to the power of the elements.
>>> wr.exp(wr.array([0.0, 1.0])).compute().round(3)
array([1.   , 2.718])

exp2: Return 2 to the power of the elements.
>>> wr.exp2(wr.array([3.0, -1.0])).compute()
array([8. , 0.5])

expm1: Return `exp(x) - 1`, accurate also near zero.
>>> wr.expm1(wr.array([0.0, 1.0])).compute().round(3)
array([0.   , 1.718])

fabs: Return the absolute values of real numbers, as floating-point numbers.
>>> wr.fabs(wr.array([-1, 2])).compute()
array([1., 2.])

float_power: Raise elements to powers, in float64 or complex128 at least.
>>> wr.float_power(wr.array([2, 4]), -1).compute()
array([0.5 , 0.25])

floor: Round down to integers, in the dtype of the elements.
>>> wr.floor(wr.array([1.8, -1.2])).compute()
array([ 1., -2.])

floor_divide: Divide elements and round down.
>>> wr.floor_divide(wr.array([7, -7]), 2).compute()
array([ 3, -4])

fmax: Return the greater of two elements; NaN only where both are NaN.
>>> wr.fmax(wr.array([1.0, wr.nan]), [0.5, 2.0]).compute()
array([1., 2.])

fmin: Return the lesser of two elements; NaN only where both are NaN.
>>> wr.fmin(wr.array([1.0, wr.nan]), [0.5, 2.0]).compute()
array([0.5, 2. ])

fmod: Return the remainders of division, with the sign of the dividend, as in C.
>>> wr.fmod(wr.array([-7, 7]), 3).compute()
array([-1,  1])

frexp: Split floating-point numbers into mantissas from 0.5 to 1 and exponents of 2.
>>> wr.compute(*wr.frexp(wr.array([8.0, 0.75])))
(array([0.5 , 0.75]), array([4, 0], dtype=int32))

gcd: Return the greatest common divisors of integers.
>>> wr.gcd(wr.array([12, 20]), 8).compute()
array([4, 4])

greater: Tell where the first operand is greater.
>>> wr.greater(wr.array([1, 3]), 2).compute()
array([False,  True])

greater_equal: Tell where the first operand is greater or equal.
>>> wr.greater_equal(wr.array([1, 2]), 2).compute()
array([False,  True])

heaviside: Return 0 below zero, 1 above, and the second operand at zero.
>>> wr.heaviside(wr.array([-1.0, 0.0, 2.0]), 0.5).compute()
array([0. , 0.5, 1. ])

hypot: Return the hypotenuses of right triangles with these legs.
>>> wr.hypot(wr.array([3.0, 5.0]), [4.0, 12.0]).compute()
array([ 5., 13.])

invert: Invert all bits of integers; negate booleans.
>>> wr.invert(wr.array([0, 5])).compute()
array([-1, -6])

isfinite: Tell which elements are neither infinite nor NaN.
>>> wr.isfinite(wr.array([1.0, wr.inf])).compute()
array([ True, False])

isinf: Tell which elements are infinite.
>>> wr.isinf(wr.array([1.0, wr.inf])).compute()
array([False,  True])

isnan: Tell which elements are NaN.
>>> wr.isnan(wr.array([1.0, wr.nan])).compute()
array([False,  True])

isnat: Tell which dates or durations are NaT.
>>> wr.isnat(wr.array(["2026-01-01", "NaT"], dtype="M8[D]")).compute()
array([False,  True])

lcm: Return the least common multiples of integers.
>>> wr.lcm(wr.array([4, 6]), 10).compute()
array([20, 30])

ldexp: Multiply numbers by 2 to the power of integers.
>>> wr.ldexp(wr.array([0.5, 0.75]), [4, 0]).compute()
array([8.  , 0.75])

left_shift: Shift the bits of integers to the left.
>>> wr.left_shift(wr.array([1, 3]), 2).compute()
array([ 4, 12])

less: Tell where the first operand is less.
>>> wr.less(wr.array([1, 3]), 2).compute()
array([ True, False])

less_equal: Tell where the first operand is less or equal.
>>> wr.less_equal(wr.array([2, 3]), 2).compute()
array([ True, False])

log: Return the natural logarithms.
>>> wr.log(wr.array([1.0, 10.0])).compute().round(3)
array([0.   , 2.303])

log10: Return the logarithms to base 10.
>>> wr.log10(wr.array([1.0, 1000.0])).compute()
array([0., 3.])

log1p: Return `log(1 + x)`, accurate also near zero.
>>> wr.log1p(wr.array([0.0, 1.0])).compute().round(3)
array([0.   , 0.693])

log2: Return the logarithms to base 2.
>>> wr.log2(wr.array([1.0, 8.0])).compute()
array([0., 3.])

logaddexp: Return `log(exp(x1) + exp(x2))` without overflow.
>>> wr.logaddexp(wr.array([0.0, 1000.0]), [0.0, 1000.0]).compute().round(3)
array([6.930000e-01, 1.000693e+03])

logaddexp2: Return `log2(2**x1 + 2**x2)` without overflow.
>>> wr.logaddexp2(wr.array([0.0, 2000.0]), [0.0, 2000.0]).compute()
array([1.000e+00, 2.001e+03])

logical_and: Tell where both operands are true (not zero).
>>> wr.logical_and(wr.array([True, False]), True).compute()
array([ True, False])

logical_not: Tell where elements are false (zero).
>>> wr.logical_not(wr.array([True, False])).compute()
array([False,  True])

logical_or: Tell where at least one operand is true (not zero).
>>> wr.logical_or(wr.array([True, False]), False).compute()
array([ True, False])

logical_xor: Tell where exactly one operand is true (not zero).
>>> wr.logical_xor(wr.array([True, False]), True).compute()
array([False,  True])

maximum: Return the greater of two elements; NaN where one of them is NaN.
>>> wr.maximum(wr.array([1, 5]), [4, 2]).compute()
array([4, 5])

minimum: Return the lesser of two elements; NaN where one of them is NaN.
>>> wr.minimum(wr.array([1, 5]), [4, 2]).compute()
array([1, 2])

modf: Split numbers into fractional and integral parts, both with the sign of the number.
>>> wr.compute(*wr.modf(wr.array([1.5, -2.25])))
(array([ 0.5 , -0.25]), array([ 1., -2.]))

multiply: Multiply elements.
>>> wr.multiply(wr.array([1, 2]), 10).compute()
array([10, 20])

negative: Change the signs.
>>> wr.negative(wr.array([1, -2])).compute()
array([-1,  2])

nextafter: Return the next floating-point numbers in the direction of the second operand.
>>> wr.nextafter(wr.array([1.0, 0.0]), 2.0).compute()
array([1.e+000, 5.e-324])

not_equal: Tell which elements differ.
>>> wr.not_equal(wr.array([1, 2]), [1, 3]).compute()
array([False,  True])

positive: Return numbers as they are: `+x`.
>>> wr.positive(wr.array([1, -2])).compute()
array([ 1, -2])

power: Raise elements to powers; integers to negative powers are an error.
>>> wr.power(wr.array([2, 3]), 3).compute()
array([ 8, 27])

rad2deg: Convert radians to degrees.
>>> wr.rad2deg(wr.array([0.5, 1.0])).compute().round(3)
array([28.648, 57.296])

radians: Convert degrees to radians.
>>> wr.radians(wr.array([90.0, 180.0])).compute().round(3)
array([1.571, 3.142])

reciprocal: Return 1 divided by the elements; of integers, rounded towards zero.
>>> wr.reciprocal(wr.array([2.0, 0.5])).compute()
array([0.5, 2. ])

remainder: Return the remainders of division, with the sign of the divisor, as Python's `%` does.
>>> wr.remainder(wr.array([-7, 7]), 3).compute()
array([2, 1])

right_shift: Shift the bits of integers to the right.
>>> wr.right_shift(wr.array([8, 5]), 2).compute()
array([2, 1])

rint: Round to integers, halves to even, in the dtype of the elements.
>>> wr.rint(wr.array([0.5, 1.7])).compute()
array([0., 2.])

sign: Return -1, 0 or 1; of complex numbers, `x / abs(x)`.
>>> wr.sign(wr.array([-2.5, 0.0, 3.0])).compute()
array([-1.,  0.,  1.])

signbit: Tell which numbers have a sign bit, as -0.0 has.
>>> wr.signbit(wr.array([-1.0, -0.0, 2.0])).compute()
array([ True,  True, False])

sin: Return the sines of angles in radians.
>>> wr.sin(wr.array([0.0, 1.0])).compute().round(3)
array([0.   , 0.841])

sinh: Return the hyperbolic sines.
>>> wr.sinh(wr.array([0.0, 1.0])).compute().round(3)
array([0.   , 1.175])

spacing: Return the distance to the next floating-point number away from zero.
>>> wr.spacing(wr.array([1.0, 1024.0])).compute()
array([2.22044605e-16, 2.27373675e-13])

sqrt: Return the square roots; NaN of negative real numbers.
>>> wr.sqrt(wr.array([4.0, 2.25])).compute()
array([2. , 1.5])

square: Multiply elements by themselves.
>>> wr.square(wr.array([2, -3])).compute()
array([4, 9])

subtract: Subtract elements; the differences of dates are durations.
>>> wr.subtract(wr.array([5, 6]), 1).compute()
array([4, 5])

tan: Return the tangents of angles in radians.
>>> wr.tan(wr.array([0.0, 1.0])).compute().round(3)
array([0.   , 1.557])

tanh: Return the hyperbolic tangents.
>>> wr.tanh(wr.array([0.0, 1.0])).compute().round(3)
array([0.   , 0.762])

trunc: Round towards zero, in the dtype of the elements.
>>> wr.trunc(wr.array([1.8, -1.8])).compute()
array([ 1., -1.])
"""


_PARAMETERS = """{operands} : array or scalar
    {said}
out : Array or numpy.ndarray, or a tuple with one for each result, optional
    A lazy array's elements are set to the result, lazily; a NumPy array is filled now.
where : array of bool, optional
    Where it is False, `out` stays as it is; without `out` the result is zero there.
dtype : dtype, optional
    In which to compute; operands are cast to it.
casting : {{'no', 'equiv', 'safe', 'same_kind', 'unsafe'}}, optional
    Which casts are allowed."""

_RETURNS = """{kind}
    Of the operands' broadcast shape, with the dtype of `numpy.{name}`. Where no operand is lazy, NumPy computes the
    result at once."""

_RAISES = """ShapeError
    The operands' shapes don't broadcast.
ArgumentError
    There are more or fewer operands, or a keyword isn't known.
DTypeError
    The function isn't defined for these dtypes, or `casting` forbids a cast."""

_NOTES = """`order` and `subok` of NumPy's function are accepted and have no effect; `signature` isn't accepted. Where
`where` is False elements are zero, not uninitialized."""


def _parse_docs() -> dict[str, tuple[str, str]]:
    docs = {}
    for entry in _TEXT.strip().split("\n\n"):
        first, _, example = entry.partition("\n")
        name, _, summary = first.partition(": ")
        docs[name] = summary, example
    return docs


_SAID = _parse_docs()


def describe(name: str, signature: str, operands: list[str], results: int) -> str:
    """Return the documentation of a ufunc.

    Parameters
    ----------
    name : str
        As in NumPy.
    signature : str
        What it takes, as Python writes it.
    operands : list of str
        The names of its operands.
    results : int
        How many it returns.
    """
    summary, example = _SAID[name]
    said = "They broadcast against each other; dtypes promote as in NumPy 2." if len(operands) > 1 else "The elements."
    kind = "Array" if results == 1 else f"tuple of {results} Arrays"
    sections = {
        "Parameters": _PARAMETERS.format(operands=", ".join(operands), said=said),
        "Returns": _RETURNS.format(kind=kind, name=name),
        "Raises": _RAISES,
        "See Also": f"numpy.{name}",
        "Notes": _NOTES,
        "Examples": f">>> import windrow as wr\n{example}",
    }
    body = "\n\n".join(f"{title}\n{'-' * len(title)}\n{text}" for title, text in sections.items())
    return f"{name}{signature}\n\n{summary}\n\n{body}\n"
