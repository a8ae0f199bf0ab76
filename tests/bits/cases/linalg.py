"""Linear algebra, by blocks and in whole matrices; the blocks are small, so that there are several."""

from __future__ import annotations

from typing import TYPE_CHECKING

import windrow as wr
from windrow.arrays.linalg.factors import definite, elimination, orthogonal, tall, triangular

if TYPE_CHECKING:
    from collections.abc import Callable


def cases(a: dict[str, wr.Array], keep: Callable[[wr.Array], wr.Array]) -> dict[str, wr.Array]:
    """One expression or more for each kind of operation."""
    y, f, z, i = (a[name] for name in ("y", "f", "z", "i"))
    square = keep(y[:120, :120] + 5 * wr.eye(120))
    gram = keep(y[:120] @ y[:120].T + 50 * wr.eye(120))
    tall_one = keep(a["line"][:60_000].reshape(-1, 6))
    stack = y[:60, :60].reshape(10, 6, 60)[:, :, :6] + 4 * wr.eye(6)
    rows = tall.Tall.of(tall_one)
    panels = orthogonal.Reflections.of(y[:150, :90], 40)
    q, r = wr.linalg.qr(stack)
    order, lower, upper = triangular.factor_blocks(y[:120, :90], 40)
    packed = wr.linalg.lu(stack)
    nearly = wr.linalg.svd_compressed(y[:200, :90], 5, "QR", 1, seed=3)
    u, s, vh = wr.linalg.svd(stack, full_matrices=False)
    solution, _, rank, values = wr.linalg.lstsq(y[:50, :20], f[:50, :3])
    return {
        "cholesky-blocks": definite.factor_blocks(gram, 50),
        "solve-blocks": elimination.solve_blocks(square, y[:120, :30], 50),
        "lu-blocks-order": order,
        "lu-blocks-lower": lower,
        "lu-blocks-upper": upper,
        "lu": packed.P @ packed.L @ packed.U,
        "solve_triangular-blocks": triangular.substitute(square, y[:120, :30], 50, True, False),
        "solve_triangular": wr.linalg.solve_triangular(stack, stack),
        "svd_compressed": nearly.U,
        "qr-rows": rows.form(None),
        "qr-rows-triangle": tall.tall_triangle(tall_one),
        "qr-panels": panels.form(90),
        "qr-panels-triangle": panels.triangle(90),
        "det": wr.linalg.det(stack),
        "slogdet": wr.linalg.slogdet(stack).logabsdet,
        "inv": wr.linalg.inv(stack),
        "cholesky": wr.linalg.cholesky(stack @ stack.mT),
        "eigvalsh": wr.linalg.eigvalsh(stack),
        "eigh": wr.linalg.eigh(gram).eigenvectors,
        "eig": wr.linalg.eig(stack).eigenvalues,
        "qr": q @ r,
        "svd": (u * s[:, None]) @ vh,
        "svdvals": wr.linalg.svdvals(z[5:75]),
        "pinv": wr.linalg.pinv(y[:40, :25]),
        "lstsq": solution,
        "lstsq-rank": rank,
        "lstsq-values": values,
        "matrix_rank": wr.linalg.matrix_rank(stack),
        "cond": wr.linalg.cond(stack, 1),
        "norm": wr.linalg.norm(z[5:]),
        "norm-3": wr.linalg.norm(y, 3, axis=0),
        "matrix_norm": wr.linalg.matrix_norm(stack, ord="nuc"),
        "matrix_power": wr.linalg.matrix_power(stack, 5),
        "multi_dot": wr.linalg.multi_dot([y, f.T, y]),
        "einsum": wr.einsum("ij,kj,ik->k", y, f, y @ f.T),
        "einsum-diagonal": wr.einsum("ii,i->i", square, y[0, :120]),
        "vecdot": wr.vecdot(z[5:], y[5:], axis=0),
        "kron": wr.kron(y[:7, :9], f[:8, :10]),
        "cross": wr.cross(y[:, :3], f[:, 3:6]),
        "diagonal": wr.diagonal(y, 7),
        "diag": wr.diag(y[3], -5),
        "trace": wr.trace(z, -3),
        "tril": wr.tril(i, 4),
        "vander": wr.vander(y[0, :90], 20),
    }
