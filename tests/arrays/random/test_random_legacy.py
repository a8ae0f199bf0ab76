"""The names of `numpy.random` besides generators: one stream for all, seeded, in whatever chunks; `RandomState`."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings

import numpy as np
import pytest

import windrow as wr

R = wr.random
REFUSED = {"MT19937", "PCG64", "PCG64DXSM", "SFC64", "BitGenerator"}


def test_every_name_of_numpy_is_there():
    lacking = {n for n in np.random.__all__ if not n.startswith("_") and not hasattr(R, n)}
    assert lacking == REFUSED
    assert set(np.random.__all__) - REFUSED <= set(R.__all__)
    lacking = {n for n in dir(np.random.RandomState) if not n.startswith("_") and not hasattr(R.RandomState, n)}
    assert lacking == set()
    with pytest.raises(AttributeError, match="Philox gives the number at a position"):
        R.PCG64


DRAWS = {
    "beta": (2, 3),
    "binomial": (10, 0.3),
    "chisquare": (3,),
    "exponential": (2.0,),
    "f": (3, 40),
    "gamma": (2, 3),
    "geometric": (0.3,),
    "gumbel": (1, 2),
    "hypergeometric": (20, 20, 10),
    "laplace": (1, 2),
    "logistic": (1, 2),
    "lognormal": (0.1, 0.2),
    "logseries": (0.5,),
    "negative_binomial": (5, 0.5),
    "noncentral_chisquare": (3, 2),
    "noncentral_f": (3, 40, 1),
    "normal": (3, 2),
    "pareto": (9,),
    "poisson": (4,),
    "power": (3,),
    "rayleigh": (2,),
    "random_sample": (),
    "random": (),
    "ranf": (),
    "sample": (),
    "standard_exponential": (),
    "standard_gamma": (3,),
    "standard_normal": (),
    "standard_t": (9,),
    "triangular": (0, 1, 4),
    "uniform": (2, 5),
    "vonmises": (0.5, 3),
    "wald": (2, 9),
    "weibull": (3,),
    "zipf": (5,),
    "randint": (3, 90),
    "random_integers": (3, 90),
}


@pytest.mark.parametrize("name", sorted(DRAWS))
def test_draws(name):
    """As NumPy's in distribution, the same for the same seed, whatever the chunks; other ones at the next call."""
    ours, args = getattr(R, name), DRAWS[name]
    R.seed(5)
    x = ours(*args, size=(200, 50), chunks=(33, 50))
    second = ours(*args, size=(200, 50))
    R.seed(5)
    again = ours(*args, size=(200, 50), chunks=-1)
    assert x.numblocks == (7, 1)
    assert (x == again).all()
    assert not (x == second).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of random_integers
        theirs = getattr(np.random.RandomState(5), {"ranf": "random", "sample": "random"}.get(name, name))
        expected = theirs(*args, size=(200, 50))
    assert x.dtype == expected.dtype
    gap = abs(x.mean().compute() - expected.mean())
    assert gap < 6 * max(expected.std(), 1e-9) / 100 + 1e-9


def test_shapes_as_arguments():
    R.seed(1)
    assert R.rand().shape == R.randn().shape == ()
    x = R.rand(3, 4, chunks=2)
    assert (x.shape, x.numblocks, x.dtype) == ((3, 4), (2, 2), np.float64)
    assert (x >= 0).all()
    assert (x < 1).all()
    assert R.randn(5).shape == (5,)
    with pytest.raises(ValueError, match="rand: argument 'shape'"):
        R.rand((3, 4))
    assert R.randint(2, size=4, dtype="i1").dtype == np.int8
    assert set(R.randint(1, 3, 100).tolist()) == {1, 2}
    assert set(R.random_integers(3, size=100).tolist()) == {1, 2, 3}
    assert R.RandomState(1).tomaxint(3).dtype == np.int64
    assert R.normal(0, 1, (4, 6), 3).chunks == ((3, 1), (3, 3))  # chunks by position, as dask has them
    assert R.random((4, 6), (2, 3)).chunks == ((2, 2), (3, 3))


def test_orders_and_choices():
    R.seed(2)
    assert sorted(R.permutation(10).tolist()) == list(range(10))
    x = wr.arange(20, chunks=6)
    before = x + 0
    R.shuffle(x)  # the name stands for the new order, as after x[...] = …
    assert sorted(x.tolist()) == list(range(20)) == before.tolist()
    plain = [1, 2, 3, 4, 5, 6]
    R.shuffle(plain)
    assert sorted(plain) == [1, 2, 3, 4, 5, 6]
    assert set(R.choice(["a", "b"], 50, p=[0.5, 0.5], chunks=20).tolist()) == {"a", "b"}
    assert len(set(R.choice(30, 30, replace=False).tolist())) == 30
    assert R.multinomial(10, [0.5, 0.5], 4).sum(axis=1).tolist() == [10] * 4
    assert R.dirichlet([1, 2], 3).shape == (3, 2)
    assert R.multivariate_normal([0, 1], np.eye(2), 3).shape == (3, 2)
    assert len(R.bytes(5)) == 5


def test_state():
    R.seed(3)
    state = R.get_state()
    x = R.rand(4).compute()
    R.set_state(state)
    assert (R.rand(4) == x).all()
    assert (R.RandomState(3).rand(4) == x).all()
    with pytest.raises(ValueError, match="get_state: argument 'legacy'"):
        R.get_state(legacy=True)
    own = R.RandomState(9)
    other = pickle.loads(pickle.dumps(own))
    assert (own.rand(3) == other.rand(3)).all()
    assert (copy.deepcopy(own).rand(3) == own.rand(3)).all()
    rng = R.default_rng(own)  # as NumPy has it: a generator of the same stream
    first, second = rng.random(3), own.rand(3)
    assert not (first == second).any()
    assert "RandomState" in repr(own)
    R.seed()
    assert not (R.rand(4) == x).any()


@pytest.mark.parametrize(
    ("call", "name", "argument"),
    [
        (lambda: R.seed("a"), "seed", "seed"),
        (lambda: R.RandomState(-1), "RandomState", "seed"),
        (lambda: R.default_rng(1.5), "default_rng", "seed"),
        (lambda: R.Philox(-1), "Philox", "seed"),
        (lambda: R.Philox(key="a"), "Philox", "key"),
        (lambda: R.rand(2, -1), "rand", "shape"),
        (lambda: R.rand("a"), "rand", "shape"),
        (lambda: R.rand(3, chunks="x"), "rand", "chunks"),
        (lambda: R.randn(2.5), "randn", "shape"),
        (lambda: R.randn(3, chunks="x"), "randn", "chunks"),
        (lambda: R.random_sample(-1), "random_sample", "size"),
        (lambda: R.random("a"), "random", "size"),
        (lambda: R.randint(1.5), "randint", "low"),
        (lambda: R.randint(0), "randint", "low"),
        (lambda: R.randint(5, 2), "randint", "high"),
        (lambda: R.randint(0, [1.5]), "randint", "high"),
        (lambda: R.randint(5, size="a"), "randint", "size"),
        (lambda: R.randint(5, dtype=float), "randint", "dtype"),
        (lambda: R.randint(5, size=3, chunks="x"), "randint", "chunks"),
        (lambda: R.random_integers(0), "random_integers", "low"),
        (lambda: R.default_rng(1).integers(3, 2), "integers", "high"),
    ],
)
def test_errors_name_what_was_called(call, name, argument):
    with pytest.raises((ValueError, TypeError), match=rf"^{name}: argument '{argument}' is "):
        call()


def test_arrays_that_were_made_before_seed_stay():
    R.seed(4)
    x = R.rand(5)
    expected = R.RandomState(4).rand(5).compute()
    R.seed(99)
    assert (x == expected).all()


def test_parameters_broadcast_and_signatures():
    R.seed(6)
    x = R.normal(wr.arange(3, chunks=2), [[1], [2]])
    assert x.shape == (2, 3)
    for name in ("normal", "randint", "choice", "shuffle"):
        theirs = [p for p in inspect.signature(getattr(np.random.RandomState, name)).parameters if p != "self"]
        ours = [p for p in inspect.signature(getattr(R.RandomState, name)).parameters if p != "self"]
        assert ours[: len(theirs)] == theirs
    assert callable(R.seed)
    assert R.normal.__doc__


@pytest.mark.ranks
def test_on_ranks(launch):
    program = (
        "import windrow as wr\n"
        "wr.random.seed(11)\n"
        "x = wr.random.normal(size=(300, 40), chunks=(70, 40))\n"
        "y = wr.random.permutation(wr.arange(500, chunks=60))\n"
        "print(x.compute().tobytes().hex()[-64:], y[:9].tolist())\n"
    )
    assert launch(3, "-c", program).last == launch(0, "-c", program).last
