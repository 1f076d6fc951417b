"""Rows of JSON objects as tables: a DataFrame if pandas is installed, else a dictionary of arrays."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


def column(values: list[Any]) -> Any:
    """Numbers as an array with NaN for null; anything else as objects."""
    if all(value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)) for value in values):
        if values and all(isinstance(value, int) for value in values):
            return np.array(values)
        return np.array([np.nan if value is None else value for value in values], dtype="float64")
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def table(rows: Iterable[Mapping[str, Any]], names: list[str] | None = None) -> Any:
    """A DataFrame, or a dictionary of arrays, with the columns `names`: by default those of the first row."""
    rows = list(rows)
    if names is None:
        names = list(rows[0]) if rows else []
    columns = {name: column([row.get(name) for row in rows]) for name in names}
    try:
        import pandas
    except ImportError:
        return columns
    return pandas.DataFrame(columns)


def html_table(names: list[str], rows: Iterable[Iterable[Any]]) -> str:
    from html import escape
    style = "text-align:left;padding-right:1em"
    head = "".join(f'<th style="{style}">{escape(name)}</th>' for name in names)
    body = "".join("<tr>" + "".join(f'<td style="{style}">{escape(text(value))}</td>' for value in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def text(value: Any) -> str:
    if value is None or (isinstance(value, float) and value != value):
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def text_table(names: list[str], rows: Iterable[Iterable[Any]]) -> str:
    lines = [names, *[[text(value) for value in row] for row in rows]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(names))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)
