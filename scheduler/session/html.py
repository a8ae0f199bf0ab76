"""Small pieces of HTML for notebooks: a table, and a cluster's."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .cluster import Cluster


def size_text(count: int) -> str:
    """Return a number of bytes for people.

    Examples
    --------
    >>> size_text(3 << 20)
    '3.0 MiB'
    """
    if count < 1024:
        return f"{count} B"
    value = float(count)
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        value /= 1024
        if value < 1024:
            return f"{value:.1f} {unit}"
    return f"{value / 1024:.1f} PiB"


_RANKS = ("#b9dfb9", "#b3d1f0", "#dcc4ec", "#f5c2c7", "#a9e2de", "#efe39a", "#cfd3da", "#e8c9a8")


def rank_colour(rank: int) -> str:
    """Return the colour of what lies on a rank: a light one, for dark text; the first eight ranks have one each."""
    return _RANKS[rank % len(_RANKS)]


def escape(text: str) -> str:
    """Return text as HTML; the library's entities are loaded when first needed."""
    import html

    return html.escape(text)


def table(head: Sequence[str], rows: Sequence[Sequence[object]], left: Sequence[int] = (0,)) -> str:
    """Return a table; columns named in `left` are set to the left, others to the right. Text is escaped."""

    def cells(tag: str, row: Sequence[object]) -> str:
        sides = ["left" if i in left else "right" for i in range(len(row))]
        elements = (
            f'<{tag} style="text-align:{side}">{escape(str(cell))}</{tag}>'
            for cell, side in zip(row, sides, strict=True)
        )
        return f"<tr>{''.join(elements)}</tr>"

    top = f"<thead>{cells('th', head)}</thead>" if head else ""
    return f"<table>{top}<tbody>{''.join(cells('td', row) for row in rows)}</tbody></table>"


def cluster_html(cluster: Cluster) -> str:
    if cluster.closed:
        return f"<p>{escape(repr(cluster))}</p>"
    rows = [
        (
            row["rank"],
            row["host"],
            row["pid"],
            row["state"],
            f"{row['chunks']:,}",
            f"{size_text(row['arena_used'])} of {size_text(row['arena_size'])}",
        )
        for row in cluster.info()
    ]
    lost = "".join(f"<p>{escape(text)}</p>" for text in cluster.losses)
    head = ("rank", "host", "pid", "state", "chunks", "memory")
    return f"<p>{escape(repr(cluster))}</p>{table(head, rows, left=(1, 3))}{lost}"
