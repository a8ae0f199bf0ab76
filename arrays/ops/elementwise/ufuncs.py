"""NumPy's elementwise functions: a line for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .ufunc import Ufunc

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "cbrt",
    "ceil",
    "conj",
    "conjugate",
    "copysign",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "divide",
    "divmod",
    "equal",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "float_power",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frexp",
    "gcd",
    "greater",
    "greater_equal",
    "heaviside",
    "hypot",
    "invert",
    "isfinite",
    "isinf",
    "isnan",
    "isnat",
    "lcm",
    "ldexp",
    "left_shift",
    "less",
    "less_equal",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "modf",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "power",
    "rad2deg",
    "radians",
    "reciprocal",
    "remainder",
    "right_shift",
    "rint",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "spacing",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "true_divide",
    "trunc",
]

absolute = Ufunc("absolute")
add = Ufunc("add")
arccos = Ufunc("arccos")
arccosh = Ufunc("arccosh")
arcsin = Ufunc("arcsin")
arcsinh = Ufunc("arcsinh")
arctan = Ufunc("arctan")
arctan2 = Ufunc("arctan2")
arctanh = Ufunc("arctanh")
bitwise_and = Ufunc("bitwise_and")
bitwise_count = Ufunc("bitwise_count")
bitwise_or = Ufunc("bitwise_or")
bitwise_xor = Ufunc("bitwise_xor")
cbrt = Ufunc("cbrt")
ceil = Ufunc("ceil")
conjugate = Ufunc("conjugate")
copysign = Ufunc("copysign")
cos = Ufunc("cos")
cosh = Ufunc("cosh")
deg2rad = Ufunc("deg2rad")
degrees = Ufunc("degrees")
divide = Ufunc("divide")
divmod = Ufunc("divmod")
equal = Ufunc("equal")
exp = Ufunc("exp")
exp2 = Ufunc("exp2")
expm1 = Ufunc("expm1")
fabs = Ufunc("fabs")
float_power = Ufunc("float_power")
floor = Ufunc("floor")
floor_divide = Ufunc("floor_divide")
fmax = Ufunc("fmax")
fmin = Ufunc("fmin")
fmod = Ufunc("fmod")
frexp = Ufunc("frexp")
gcd = Ufunc("gcd")
greater = Ufunc("greater")
greater_equal = Ufunc("greater_equal")
heaviside = Ufunc("heaviside")
hypot = Ufunc("hypot")
invert = Ufunc("invert")
isfinite = Ufunc("isfinite")
isinf = Ufunc("isinf")
isnan = Ufunc("isnan")
isnat = Ufunc("isnat")
lcm = Ufunc("lcm")
ldexp = Ufunc("ldexp")
left_shift = Ufunc("left_shift")
less = Ufunc("less")
less_equal = Ufunc("less_equal")
log = Ufunc("log")
log10 = Ufunc("log10")
log1p = Ufunc("log1p")
log2 = Ufunc("log2")
logaddexp = Ufunc("logaddexp")
logaddexp2 = Ufunc("logaddexp2")
logical_and = Ufunc("logical_and")
logical_not = Ufunc("logical_not")
logical_or = Ufunc("logical_or")
logical_xor = Ufunc("logical_xor")
maximum = Ufunc("maximum")
minimum = Ufunc("minimum")
modf = Ufunc("modf")
multiply = Ufunc("multiply")
negative = Ufunc("negative")
nextafter = Ufunc("nextafter")
not_equal = Ufunc("not_equal")
positive = Ufunc("positive")
power = Ufunc("power")
rad2deg = Ufunc("rad2deg")
radians = Ufunc("radians")
reciprocal = Ufunc("reciprocal")
remainder = Ufunc("remainder")
right_shift = Ufunc("right_shift")
rint = Ufunc("rint")
sign = Ufunc("sign")
signbit = Ufunc("signbit")
sin = Ufunc("sin")
sinh = Ufunc("sinh")
spacing = Ufunc("spacing")
sqrt = Ufunc("sqrt")
square = Ufunc("square")
subtract = Ufunc("subtract")
tan = Ufunc("tan")
tanh = Ufunc("tanh")
trunc = Ufunc("trunc")

abs = absolute
acos = arccos
acosh = arccosh
asin = arcsin
asinh = arcsinh
atan = arctan
atan2 = arctan2
atanh = arctanh
bitwise_invert = invert
bitwise_left_shift = left_shift
bitwise_not = invert
bitwise_right_shift = right_shift
conj = conjugate
mod = remainder
pow = power
true_divide = divide

UFUNCS: dict[np.ufunc, Ufunc] = {f.ufunc: f for f in list(globals().values()) if isinstance(f, Ufunc)}
"""The `Ufunc` for each ufunc of NumPy."""
