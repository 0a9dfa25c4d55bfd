from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
import typer
from rich.console import Console

from multinic_cni.cli import printing
from multinic_cni.cli.printing import (
    failing_on_one_line,
    print_fields,
    print_filled_table,
    print_line,
    print_table,
)
from multinic_cni.errors import NO_NICS, CniError

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


# What turns the direction round, ends a line, hides, or moves a terminal's cursor.
PLANTED = "a\u202eb\u2066c\u2028d\u2029e\u200bf\x1b[2Jg\nh\x9bi\udc80"
SHOWN = r"a\u202eb\u2066c\u2028d\u2029e\u200bf [2Jg h i\udc80"


@pytest.mark.parametrize("width", [0, 200])
def test_what_others_write_only_shows(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if width:
        on_terminal(monkeypatch, width)
    print_table(("NIC", "WHY"), [(PLANTED, "x"), ("eth0", PLANTED)])
    print_line(PLANTED)
    print_fields([("why", PLANTED)])
    with pytest.raises(typer.Exit), failing_on_one_line("look"):
        raise CniError(NO_NICS, PLANTED)
    printed = capsys.readouterr()
    assert 4 == printed.out.count(SHOWN)
    assert f"multinic-cni: {SHOWN}\n" == printed.err
    if not width:
        rows = printed.out.splitlines()
        assert 5 == len(rows)
        assert rows[0].index("WHY") == rows[1].index("  x") + 2  # escapes count as they show


def test_letters_of_other_scripts_stay(capsys: pytest.CaptureFixture[str]) -> None:
    print_line("Netz-Größe \u05e8\u05e9\u05ea \u7db2 10 µs …")
    assert ["Netz-Größe \u05e8\u05e9\u05ea \u7db2 10 µs …"] == lines(capsys)
