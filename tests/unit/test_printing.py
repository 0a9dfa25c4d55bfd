from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from multinic_cni.cli import printing
from multinic_cni.cli.printing import print_filled_table, print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

COLUMNS = ("NIC", "STATE", "ADDRESSES")
ROWS = (("eth0", "", "10.1.0.5/24 2001:db8:1:2:3:4:5:6/64"), ("eth10", "", ""))


def on_terminal(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setattr(printing, "Console", partial(Console, force_terminal=True, width=width))


def lines(capsys: pytest.CaptureFixture[str]) -> Sequence[str]:
    return capsys.readouterr().out.splitlines()


def test_pipe_gets_text_alone(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(COLUMNS, ROWS)
    assert [
        "NIC    STATE  ADDRESSES",
        "eth0          10.1.0.5/24 2001:db8:1:2:3:4:5:6/64",
        "eth10",
    ] == lines(capsys)


@pytest.mark.parametrize("width", [20, 40, 48, 52, 200])
def test_nothing_is_cut_off_on_a_terminal(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on_terminal(monkeypatch, width)
    print_table(COLUMNS, ROWS)
    text = "\n".join(lines(capsys))
    assert "10.1.0.5/24 2001:db8:1:2:3:4:5:6/64" in text
    assert ("\x1b[1m" in text) == (width >= 52)  # a table of rich's, where it has room


def test_columns_without_anything_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    print_filled_table(COLUMNS, ROWS)
    assert "NIC    ADDRESSES" == lines(capsys)[0]
    print_filled_table(COLUMNS, [("", "", "")])
    assert ["NIC", ""] == lines(capsys)


def test_table_of_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    print_filled_table(COLUMNS, [])
    assert ["NIC"] == lines(capsys)
