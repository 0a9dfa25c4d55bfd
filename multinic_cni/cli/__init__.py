"""The command line: one file per command, typer and rich only here."""

from __future__ import annotations

from typing import NoReturn


def run() -> NoReturn:
    """Run the command that the arguments name, and exit."""
    import gc  # noqa: PLC0415 - see below

    from multinic_cni.cli.app import app  # noqa: PLC0415 - only when a command is run

    gc.enable()  # the frozen executable starts without, since a call of the plugin is short

    try:
        app()
    except OSError as error:
        # Commands word their own; typer ends quietly for a pipe that is closed.
        _give_up(error)
        raise SystemExit(1) from None
    raise SystemExit(0)


def _give_up(error: OSError) -> None:
    """Say on one line why nothing more can be printed: the disk is full, say."""
    import os  # noqa: PLC0415 - see above

    from multinic_cni.errors import io_failure  # noqa: PLC0415 - see above
    from multinic_cni.log import harmless, write_to_stderr  # noqa: PLC0415 - see above

    failure = io_failure("print the answer", error).message
    write_to_stderr(harmless(f"multinic-cni: {failure}").encode())
    # What is left in the buffer would fail again at the interpreter's end.
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(nowhere, 1)
