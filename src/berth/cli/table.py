"""Tables as plain text: aligned, no wider than the terminal, readable by `awk` when piped."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from berth.cli.problems import cell_width, printable

GAP = "  "
SHORTEST = 12
"""A column that gives way to the terminal's width keeps at least this much."""


class Column(NamedTuple):
    """A heading; `right` aligns figures, `shrink` lets a long column give way, `state` paints its words."""

    heading: str
    right: bool = False
    shrink: bool = False
    state: bool = False


def render(
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    width: int | None = None,
    paint: Callable[[str], str] = str,
) -> list[str]:
    """Lines of a table; `width` in cells of a terminal (None: no limit). The last column is not padded."""
    cells = [[printable(cell) for cell in row] for row in rows]
    sizes = [max(cell_width(c.heading), *(cell_width(row[i]) for row in cells)) for i, c in enumerate(columns)]
    sizes = _fit(columns, sizes, width)
    head = _line(columns, [column.heading for column in columns], sizes, str)
    return [head, *(_line(columns, row, sizes, paint) for row in cells)]


def _fit(columns: Sequence[Column], sizes: list[int], width: int | None) -> list[int]:
    """Take what is too much from the widest columns that may shrink."""
    found = list(sizes)
    while width is not None and sum(found) + len(GAP) * (len(found) - 1) > width:
        wide = [i for i, column in enumerate(columns) if column.shrink and found[i] > SHORTEST]
        if not wide:
            break
        found[max(wide, key=lambda i: found[i])] -= 1
    return found


def _line(columns: Sequence[Column], row: Sequence[str], sizes: Sequence[int], paint: Callable[[str], str]) -> str:
    cells = []
    for column, text, size in zip(columns, row, sizes, strict=True):
        short = _cut(text, size)
        pad = " " * (size - cell_width(short))
        shown = paint(short) if column.state else short
        cells.append(pad + shown if column.right else shown + pad)
    return GAP.join(cells).rstrip()


def _cut(text: str, size: int) -> str:
    if cell_width(text) <= size:
        return text
    short = text
    while cell_width(short) > size - 1:
        short = short[:-1]
    return short + "…"
