"""The command line: one file per command, typer and rich only here."""

from __future__ import annotations

from typing import NoReturn


def run() -> NoReturn:
    """Run the command that the arguments name, and exit."""
    from multinic_cni.cli.app import app  # noqa: PLC0415 - the hot path imports this package's name

    app()
    raise SystemExit(0)
