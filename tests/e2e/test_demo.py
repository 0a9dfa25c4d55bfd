"""The README's first command."""

from __future__ import annotations

from tests.pytest_netns import PROJECT, execute


def test_demo_attaches_pings_and_leaves_nothing() -> None:
    printed = execute(PROJECT / "scripts" / "demo.sh")
    assert "Nothing is left: no interface, no address, no record" in printed
