"""What the commands on a node have in common: how they print and how they fail."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from multinic_cni.errors import CniError, io_failure
from multinic_cni.log import harmless, log

STYLES = {
    **dict.fromkeys(("live", "imported"), "green"),
    **dict.fromkeys(("stale", "orphaned", "quarantined", "foreign"), "yellow"),
    **dict.fromkeys(("double", "missing", "damaged", "unknown"), "red"),
}


@contextmanager
def failing_on_one_line(doing: str) -> Iterator[None]:
    """Turn an error into one line on stderr and exit status 1; the log tells errors only."""
    log.name_call(doing)
    log.configure(file="", level="error")
    try:
        yield
    except (CniError, OSError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        failure = io_failure(doing, error) if isinstance(error, OSError) else error
        hints = ["are you root?"] if isinstance(cause, PermissionError) else []
        hints += [failure.details] if failure.details else []
        print_warning("; ".join([f"multinic-cni: {failure.message}", *hints]))
        raise typer.Exit(1) from None


def print_json(document: object) -> None:
    typer.echo(json.dumps(document, indent=2))


def print_line(text: str) -> None:
    typer.echo(harmless(text))


def print_warning(text: str) -> None:
    """Print a line on stderr."""
    typer.echo(harmless(text), err=True)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table: with rich on a terminal, else one line a row with nothing in it but text.

    One that is too wide for the terminal is left to it, which wraps lines: rich would cut them off.
    """
    console, rows = Console(), [list(map(harmless, row)) for row in rows]
    needed = sum(width + 2 for width in _widths([columns, *rows]))
    if not console.is_terminal or needed > console.width:
        _print_aligned([columns, *rows])
        return
    table = Table(*columns, box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(each, style=STYLES.get(each, "")) for each in row))
    console.print(table)


def print_filled_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table without the columns in which nothing stands, the first one excepted."""
    kept = [index for index in range(len(columns)) if not index or any(row[index] for row in rows)]
    print_table([columns[i] for i in kept], [[row[i] for i in kept] for row in rows])


def print_error(message: str, details: str) -> None:
    """Print what would fail, on stdout with the rest of what was found out."""
    typer.secho("error: ", fg="red", nl=False)
    print_line(message)
    if details:
        print_line(details)


def print_fields(fields: Iterable[tuple[str, str]]) -> None:
    """Print names and values, but no empty ones."""
    _print_aligned([(name, harmless(value)) for name, value in fields if value])


def _print_aligned(rows: Sequence[Sequence[str]]) -> None:
    widths = _widths(rows)
    for row in rows:
        padded = (text.ljust(width) for text, width in zip(row, widths, strict=True))
        print_line("  ".join(padded).rstrip())


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def moment(seconds: float | None) -> str:
    """Word a time since 1970; empty for none."""
    if seconds is None:
        return ""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
