"""The command line: one file per command, typer and rich only here."""

from __future__ import annotations

from typing import NoReturn


def run() -> NoReturn:
    """Run the command that the arguments name, and exit."""
    import gc  # noqa: PLC0415 - see below

    from multinic_cni.cli.app import app  # noqa: PLC0415 - only when a command is run

    gc.enable()  # the frozen executable starts without, since a call of the plugin is short

    app()
    raise SystemExit(0)
