"""Tables for notebooks and terminals, in HTML and in text."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from ftlab import _native

Groups = list[tuple[str, list[list[str]]]]
"""Titles, each with rows: the name of a quantity, then its value for each result."""


def column_groups(results: Sequence[str]) -> Groups:
    """The figures of results that are given as JSON: the columns of the csv form, unless all 0."""
    head, *rows = csv.reader(_native.rows_text(results, "csv").splitlines())
    groups: dict[str, list[list[str]]] = {}
    for name, cells in zip(head, zip(*rows)):
        numbers = [_number(cell) for cell in cells]
        part, _, rest = name.partition(".")
        if part != "sweep" and any(numbers):
            shown = ["–" if number is None else _shown(number) for number in numbers]
            title, quantity = (part, rest) if rest else ("figures", name)
            groups.setdefault(title, []).append([quantity, *shown])
    return list(groups.items())


def _number(cell: str) -> float | int | None:
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            pass
    return None


def _shown(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:,.4f}"


def groups_text(labels: Sequence[str], groups: Groups) -> str:
    """Groups as text, with a column for each label."""
    rows = [["", *labels]]
    for title, quantities in groups:
        rows.append([title, *("" for _ in labels)])
        rows += [[f"  {name}", *cells] for name, *cells in quantities]
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = (
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    )
    return "".join(f"{line.rstrip()}\n" for line in lines)


def groups_html(labels: Sequence[str], groups: Groups, notes: Iterable[str]) -> str:
    """A table with a column for each label; cells that begin with a star are bold."""
    head = "".join(f"<th>{escape(label)}</th>" for label in labels)
    rows = [f"<tr><th></th>{head}</tr>"]
    for title, quantities in groups:
        span = len(labels) + 1
        rows.append(f'<tr><th colspan="{span}" style="text-align:left">{escape(title)}</th></tr>')
        rows.extend(_html_row(quantity) for quantity in quantities)
    lines = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return f"<table>{''.join(rows)}</table>{lines}"


def _html_row(quantity: list[str]) -> str:
    name, *cells = quantity
    marked = (_html_cell(cell) for cell in cells)
    return f'<tr><td style="text-align:left">{escape(name)}</td>{"".join(marked)}</tr>'


def _html_cell(cell: str) -> str:
    text = escape(cell.removeprefix("*"))
    return f"<td><b>{text}</b></td>" if cell.startswith("*") else f"<td>{text}</td>"


def rows_html(head: Sequence[str], rows: Iterable[Sequence[object]], after: Iterable[str]) -> str:
    """A table with a head, and paragraphs after it."""
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows
    )
    lines = "".join(f"<p>{escape(line)}</p>" for line in after)
    return f"<table><tr>{cells}</tr>{body}</table>{lines}"


def fields_html(title: str, fields: Mapping[str, Any], notes: Iterable[str] = ()) -> str:
    """Fields, nested ones in groups of their own; lists are left out."""
    return groups_html([""], _field_groups(title, fields), notes)


def fields_text(title: str, fields: Mapping[str, Any], notes: Iterable[str] = ()) -> str:
    """The same as text, with a line for each field."""
    groups = _field_groups(title, fields)
    width = max((len(name) for _, rows in groups for name, _ in rows), default=0)
    lines = []
    for group, rows in groups:
        lines.append(group)
        lines += [f"  {name.ljust(width)}  {value}" for name, value in rows]
    lines += [f"note: {note}" for note in notes]
    return "".join(f"{line}\n" for line in lines)


def _field_groups(title: str, fields: Mapping[str, Any]) -> Groups:
    flat = [[name, _field(value)] for name, value in fields.items() if _is_shown(value)]
    groups: Groups = [(title, flat)]
    for name, part in fields.items():
        if isinstance(part, Mapping):
            inner = [[key, _field(value)] for key, value in part.items() if _is_shown(value)]
            groups.append((name, inner))
    return [group for group in groups if group[1]]


def _is_shown(value: object) -> bool:
    return isinstance(value, (int, float, str))


def _field(value: Any) -> str:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return _shown(value) if is_number else str(value)
