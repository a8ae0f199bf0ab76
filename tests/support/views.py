"""Small programs of NumPy's that write through views."""

from __future__ import annotations

import numpy as np

import windrow as wr

PROGRAMS = """
b = a[1:-1]; b[:] = 7
b = a[1:-1, 1:-1]; b += 1; b *= 2
b = a[::2]; b[1] = -1
b = a[::-1]; b[0] = 9
b = a[::-2, 4::-2]; b[...] = b + 5
b = a[2]; b[3] = 50
b = a[-1, 1:]; b -= 3
b = a[..., 2]; b[1:] = 0
b = a[None, 1]; b[0, 2] = 8
b = a[:, None, ::2]; b[2, 0, 1] = 4
b = a[1:2, 3:3]; b[...] = 1
b = a[1, 2, ...]; b[...] = 77
b = a[np.int64(1)]; b[np.int64(2)] = 66
b = a[np.int64(1):]; b[0] = 66; a[: np.int8(2), :: np.uint8(2)] += 1; c = a[np.array(1):]; c -= 2
b = a[xp.argmax(a[:, 0]):]; b[0] = 66
a[0][1] = 99
a[1:][1:][0, ::2] = -4
b = a.T; b[0] = 3
b = a.T[1:, ::-1]; b[0, 0] = 3; b += 1
b = a.swapaxes(0, 1); b[2, 3] = 6
b = xp.moveaxis(a, 0, 1); b[1:3] *= -1
b = xp.transpose(a, (1, 0)); b[...] = b[::-1].copy()
b = xp.einsum("ij->ji", a); b[0] = 3; c = xp.einsum("ij->i", a); c[0] = 5; c = xp.einsum("ij,ij->ji", a, a); c[0] = 5
b = xp.rot90(a); b[0] = 1
b = xp.rot90(a, 3); b[1] = 2
b = xp.flip(a); b[0, 0] = 5
b = xp.flipud(a); b[0] += 5
b = xp.fliplr(a); b[:, 0] *= 5
b = xp.rollaxis(a, 1); b[1] = 4
b = xp.expand_dims(a, 0); b[0, 1] = 4
b = xp.squeeze(a[1:2]); b[1] = 4
b = a[1:2].squeeze(0); b[2:] = 1
b = a.reshape(-1); b[::7] = 0
b = a.reshape(2, 2, 6); b[1, 0] = 2
b = a.reshape(6, 4)[1:3]; b[:, 0] = 5
b = a.reshape(3, 8).T; b[1] = 5
b = a.ravel(); b[5:9] = 1
b = xp.ravel(a)[::-1]; b[:3] = 2
b = a.T.reshape(-1); b[:] = 0
b = a[:, 1:3].reshape(-1); b[:] = 0
b = a[1:3].reshape(-1); b[2:4] = 0
b = a[::2].reshape(2, 6); b[1] = 0
b = a.reshape(-1, order="F"); b[:] = 0
b = a.T.reshape(-1, order="F"); b[:3] = 0
b = a.reshape(4, 6, copy=True); b[0] = 0
b = a.flatten(); b[0] = 100
b = a.copy(); b[0] = 100
b = a[[0, 2]]; b[0] = 100
b = a[a > 3]; b[0] = 100
b = a[[1]]; b[0] = 100
b = a + 0; b[0] = 100
p, q = xp.atleast_2d(a, a.copy()); q[0, 0] = 5
p, q = xp.atleast_3d(a.copy(), a); q[0, 0] = 5
d = xp.diagonal(a.reshape(2, 2, 6)); e = d.T; f = d[None]; a[1, 1] = 50; g = e + 1; h = f + 1
b = a.reshape(2, 12)[:, 1:]; c = b.T; d = c[::2, None]; d[1] = -3; c[-1] = 4
b, c, d = xp.split(a[1:], 3); c[...] = 3
b, c = xp.split(a, 2); b[0] = 1; c[...] = b
b, c, d = xp.array_split(a, 3, axis=1); b[0] = 1; d -= 1
b, c = xp.hsplit(a, 2); c[1] = 0
b, c = xp.vsplit(a, 2); c[1] = 0
b, c = xp.unstack(a.reshape(2, 12)); c[3] = 0
b = xp.atleast_2d(a[1]); b[0, 2] = 12
b = xp.atleast_3d(a); b[0, 0, 0] = 12
b = xp.atleast_1d(a); b[0] = 12
b = a.view("i8"); b[0, 0] = 0
b = a.view("u4"); b[0, :2] = 0
b = a.view(); b[1] = 5
b = a; b += 1
b = a[1:]; c = b[1:]; d = c.T; d[0] = 8; b[0] = 9; c *= 2; a[...] = a - 1
b = a[1:]; a = a + 1; b[0] = 5
b = a[0]; a[0] = 1; c = b + 1; a[0] = 2; d = b + 1
a[1:] = a[:-1]
a[1:] += a[:-1]
a[:-1] = a[1:] + a[:-1]
a[:, 1:] -= a[:, :-1]
b = a[1:-1]; a[1:-1] = b + a[:-2] + a[2:]
b = a[::-1]; a[...] = b
b = a.T; a[:3, :3] = b[:3, :3]
for row in a: row *= 2
for i in range(4): a[i][i] = -1
np.add(a[1:], 1, out=a[1:])
np.multiply(a, 2, out=a.T[::1].T)
np.add(a[0], a[1], out=a[2])
np.add.at(a[1], [0, 0, 2], 1)
b = a[1:]; b[b > 10] = 0
b = a[1:]; b[[0, 1], [2, 3]] = 0
b = a[:, ::2]; b[:, [0, 2]] = a[:, [1, 3]]
b = a[2]; b.sort(); c = a[::-1].T; c.sort()
b = a.T; b.sort(); c = b.view("i8"); d = b[..., 1:]; d[0] = 4; a[0] = 1; b.sort(); c[1] = 5
b = a[:2]; b.sort(); c = b.view("u1"); b.sort(); a[1] = 3; c[0, :9] = 1
b = a[1]; b.fill(3)
b = a[::2]; b.flat[3:5] = 0
b = a.T; b.flat[2] = 0
np.copyto(a[1:], a[:-1])
np.copyto(a[1], 5, where=a[0] > 2)
np.putmask(a[1:], a[1:] > 9, -9)
np.place(a[:, 1], a[:, 1] > 9, [1, 2])
np.put(a[1], [0, 2], [7, 8])
np.put(a.T, [0, 9], [7, 8])
np.fill_diagonal(a[1:, 1:], 0)
np.put_along_axis(a[1:], np.zeros((3, 1), int), 5, axis=1)
a[1].partition(2)
b = a.diagonal(); a[0, 0] = 100; c = b + 1
b = xp.broadcast_to(a[0], (3, 6)); a[0] = 5; c = b + 1
b = xp.diag(a); a[1, 1] = 44; c = b + 1
b = a[1:]; b.shape = (9, 2); b[0] = 3; c = a + 1
b = a.copy(); c = b[1:]; b.shape = (24,); b[7] = 3; c[0, 0] = 8
b = xp.asarray(a); b[0] = 3
b = a.astype("f8", copy=False); b[0] = 3
b = a.real; b[0] = 3
b = a.view("u1").reshape(4, 6, 8)[..., ::-1]; b[0, 0, 0] = 64
b = a.view([("x", "f8", 3)])["x"]; b[1:, 0] = 3; b.T[0] = 1
z = a + 1j * a; b = z.view("f8").reshape(4, 6, 2); b[1, 2] = 9; c = z.imag.ravel(); c[0] = 3
z = a + 1j * a; r = z.real.reshape(8, 3); r[0] = 5
z = a + 1j * a; r = z.real; r[0] = 5; z.imag[1] = 7; i = z.imag[2]; i *= 2
z = (a + 1j * a)[1:]; z.real[...] = 1; z.imag = 5
r = new(np.zeros(3, "f8,i4")); p = r["f0"]; p[1:] = 5; r["f1"][0] = 3; s = r[1:]["f1"]; s += 2
r = new(np.zeros(3, "f8,i4")); b = r[1]; b["f0"] = 3; r[2]["f1"] = 4; r[1] = (5, 6); b = r["f0"] + b["f0"]
for b in (r := new(np.zeros(3, "f8,i4"))): b["f0"] += 1; b["f1"] = b["f0"] * 2; b = r["f0"] + b["f1"]
r = new(np.zeros(3, "f8,i4")); r[1:]["f0"] = 7; p = r["f0"][::2]; p *= 2
b = a.astype("i4", copy=False); b[0] = 3
b = xp.nan_to_num(a, copy=False); b[0] = 3
b = a.conj(); b[0] = 3
b = a[1:]; b.byteswap(inplace=True); b.byteswap(inplace=True); b[0] = 1
b = new(np.array(5.0)); c = b[...]; c[...] = 3; c = b.ravel(); c[0] = 4
b = a[a > 3]; b.real[0] = 3; b.view()[1] = 4; c = b.astype("f8", copy=False); c[2] = 5
c = a[a > 3] * np.nan; xp.nan_to_num(c, copy=False); c[1:] += 1
b = a[:0]; b[...] = 3; b = a[1:, 3:3]; b += 1
b = a[1:]; b.resize((2, 2), refcheck=False) if xp is wr else None; b = 0; a[1] = 2
a.T.real[1] = 5; a.reshape(2, 12).T[3] *= 2
b = xp.linalg.diagonal(a); a[1, 1] = 55; c = b + 1
b, c = xp.broadcast_arrays(a, a[0]); a[0] = 5; d = c + 1
b = (wr if xp is wr else np.lib.stride_tricks).sliding_window_view(a, 2, axis=1); a[0] = 5; c = b.sum(-1)
""".strip().splitlines()


def run(program, xp, names):
    """Run a program, and return the arrays that it leaves, as NumPy's."""
    names = {"xp": xp, "np": np, "wr": wr, "new": wr.from_array if xp is wr else np.copy, **names}
    exec(program, names)
    kinds = (np.ndarray, wr.Array)
    return {name: np.asarray(value).copy() for name, value in names.items() if isinstance(value, kinds)}
