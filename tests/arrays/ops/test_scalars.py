"""Which results are scalars and which are arrays without axes; the dtype of some fields: as NumPy has them."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

import windrow as wr

ONE, TABLE, SINGLE = np.array([3.0]), np.arange(6.0).reshape(2, 3), np.array(2.0)
COMPLEX = np.array(2 + 1j)

RESULTS = """
m.squeeze(a)                   a.squeeze()                 a.squeeze(0)              m.squeeze(b.sum(keepdims=True))
m.reshape(a, ())               a.reshape(())               b.sum(keepdims=True).reshape(())
a[0]                           a[0, ...]                   a[..., 0]                 b[0, 1]
b[0, 1, ...]                   b[..., 0, 1]                b[0][1]                   b[0][1, ...]
b[0, ...][1]                   z[...]                      z[()]                     b.sum()[...]
b.sum()[()]                    z.T                         m.transpose(z)            m.permute_dims(z, ())
z.astype(int)                  z.astype(float)             b.sum().astype(int)       a.squeeze().astype(int)
(z + 1).astype(int)            a[0].astype(int)            a[0, ...].astype(int)     z.copy()
z.real                         z.imag                      c.real                    c.imag
m.real(c)                      m.imag(c)                   m.imag(z)                 b.sum().real
z.view("i8")                   m.where(z > 1, z, z)        m.where(True, z, 1)       m.isin(z, a)
m.isin(z, a, invert=True)      m.select([z > 1], [z])      m.roll(z, 1)              m.flip(z)
m.tensordot(a, a, 1)           m.dot(a, a)                 a @ a                     m.vdot(a, a)
m.inner(a, a)                  m.einsum("i,i->", a, a)     m.einsum("ij->", b)       m.trace(b)
m.cov(b[0])                     m.corrcoef(b[0])            m.linalg.norm(a)          m.linalg.det(b[:, :2])
m.linalg.matrix_norm(b, ord=1)  m.linalg.slogdet(b[:, :2])[0]  m.linalg.slogdet(b[:, :2])[1]
m.linalg.cond(b)               m.linalg.matrix_rank(b)     m.median(b)               m.quantile(b, 0.5)
m.percentile(b, np.array(50))  b.sum()                     z.sum()                   z.sum(keepdims=True)
m.max(b)                       m.argmax(b)                 m.count_nonzero(b)        m.any(b)
m.average(b)                   m.ptp(b)                    m.nanmedian(b)            m.nansum(b)
m.add.reduce(a)                m.trapezoid(a)              b.sum(axis=(0, 1))        b.sum(where=b > 1)
z + 1                          -z                          z > 1                     m.conj(z)
m.clip(z, 0, 1)                m.round(z)                  m.nan_to_num(z)           m.isclose(z, 2)
m.fix(z)                       m.sinc(z)                   m.angle(z)                m.heaviside(z, 1)
m.searchsorted(a, 1)           m.digitize(z, a)            m.take(a, 0)              a.take(0)
m.take(a, np.array(0))         a[np.array(0)]              m.sort(a)[0]              m.unique(a)[0]
m.asarray(z)                   m.zeros(())                 m.full((), 2.0)           m.full_like(z, 2)
m.broadcast_to(z, ())          z.round()                   z.clip(0, 1)              m.interp(z, a, a)
"""


@pytest.mark.parametrize("text", [each for line in RESULTS.splitlines() for each in line.split("  ") if each.strip()])
def test_scalars_and_arrays_without_axes(text):
    names = {"a": ONE, "b": TABLE, "c": COMPLEX, "z": SINGLE}
    lazy = {name: wr.from_array(value.copy()) for name, value in names.items()}
    expected = eval(text, {"m": np, "np": np, **names})
    found = eval(text, {"m": wr, "np": np, **lazy})
    assert isinstance(found, wr.Array)
    for value in (found.compute(), wr.compute([found])[0]):
        assert isinstance(value, np.ndarray) == isinstance(expected, np.ndarray)
        np.testing.assert_array_equal(value, expected, strict=True)


RECORDS = np.zeros(7, [("a", "i4"), ("b", "f8"), ("c", "U3")])
RECORDS["a"], RECORDS["b"], RECORDS["c"] = np.arange(7), 3, "xy"


@pytest.mark.parametrize("names", [["b", "a"], ["a", "c"], ["c", "b", "a"], ["a"]])
def test_some_fields_lie_where_they_lay(names, tmp_path):
    x = wr.from_array(RECORDS, chunks=3)[names]
    assert x.dtype == RECORDS[names].dtype
    found = x.compute()
    assert found.dtype == RECORDS[names].dtype
    np.testing.assert_array_equal(found, RECORDS[names])
    np.testing.assert_array_equal(wr.sort(x)[2:].compute(), np.sort(RECORDS[names])[2:])
    np.testing.assert_array_equal(wr.concatenate([x, x]).compute(), np.concatenate([RECORDS[names]] * 2))
    np.testing.assert_array_equal(x[names[0]].compute(), RECORDS[names[0]])
    wr.save(tmp_path / "x.npy", x)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy")[names], RECORDS[names])
    wr.save(tmp_path / "x", x)
    np.testing.assert_array_equal(wr.load(tmp_path / "x").compute()[names], RECORDS[names])


@pytest.mark.ranks
def test_on_ranks(launch, tmp_path):
    program = tmp_path / "scalars.py"
    program.write_text(
        textwrap.dedent("""\
            import numpy as np
            import windrow as wr

            w = np.zeros(7, [("a", "i4"), ("b", "f8"), ("c", "U3")])
            w["a"] = np.arange(7)
            found = wr.from_array(w, chunks=3)[["b", "a"]].compute()
            assert found.dtype == w[["b", "a"]].dtype
            np.testing.assert_array_equal(found, w[["b", "a"]])
            for made in (wr.ones(1).squeeze(), (wr.ones(1) + 1).squeeze(), wr.ones((2, 2))[0, 1, ...]):
                assert type(made.compute()) is np.ndarray
            assert type(wr.ones((2, 2))[0, 1].compute()) is np.float64
            print("right")
        """)
    )
    done = launch(3, str(program))
    assert done.status == 0, done.err
    assert done.last == "right"
