"""The commands of the command line, in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typer.testing import CliRunner

from multinic_cni.cli.app import app

if TYPE_CHECKING:
    from tests.unit.admin import AdminNode


def run(*words: str, node: AdminNode) -> tuple[int, str]:
    """Execute a command on a node's store; return its exit status and what it prints."""
    ended = CliRunner().invoke(app, [*words, "--data-dir", node.path])
    assert ended.exception is None or isinstance(ended.exception, SystemExit), ended.exception
    return ended.exit_code, ended.stdout
