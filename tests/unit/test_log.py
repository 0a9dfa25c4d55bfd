from __future__ import annotations

import os
import re
import unicodedata
from typing import TYPE_CHECKING

import pytest

from multinic_cni.log import LEVELS, Log

if TYPE_CHECKING:
    from pathlib import Path

CONTROL = {
    name: "".join(chr(n) for n in numbers if unicodedata.category(chr(n)) == "Cc")
    for name, numbers in (("C0", range(0x80)), ("C1", range(0x80, 0x110000)))
}


@pytest.fixture
def log() -> Log:
    log = Log()
    log.name_call("ADD c0ffee net1")
    return log


def test_line_names_level_call_and_facts(log: Log, capfd: pytest.CaptureFixture[str]) -> None:
    log.warning("NIC not taken", nic="eth2", reason="it is down")
    expected = "multinic-cni warning [ADD c0ffee net1] NIC not taken nic=eth2 reason=it is down\n"
    assert expected == capfd.readouterr().err


def test_stdout_stays_clean(log: Log, capfd: pytest.CaptureFixture[str]) -> None:
    for write in (log.debug, log.info, log.warning, log.error):
        write("event")
    assert "" == capfd.readouterr().out


@pytest.mark.parametrize("least", LEVELS)
def test_level(log: Log, capfd: pytest.CaptureFixture[str], least: str) -> None:
    log.configure(file="", level=least)
    for level in LEVELS:
        getattr(log, level)("event")
    written = re.findall("multinic-cni ([a-z]+) ", capfd.readouterr().err)
    assert list(LEVELS[LEVELS.index(least) :]) == written


def test_info_is_the_level_before_the_conf_is_read(
    log: Log, capfd: pytest.CaptureFixture[str]
) -> None:
    log.debug("quiet")
    log.info("loud")
    assert ["loud"] == re.findall("quiet|loud", capfd.readouterr().err)


@pytest.mark.parametrize("characters", CONTROL)
@pytest.mark.parametrize("place", ["event", "fact", "call"])
def test_no_text_fakes_a_line_or_moves_a_terminals_cursor(
    log: Log, capfd: pytest.CaptureFixture[str], place: str, characters: str
) -> None:
    hostile = f"a{CONTROL[characters]}multinic-cni error [DEL] faked"
    if place == "call":
        log.name_call(hostile)
    log.info(hostile if place == "event" else "event", fact=hostile if place == "fact" else "")
    written = capfd.readouterr().err
    assert written.endswith("\n")
    assert set() == set(CONTROL[characters]).intersection(written[:-1])


def test_lone_surrogates_are_escaped(log: Log, capfd: pytest.CaptureFixture[str]) -> None:
    log.info("name \udcff", nic="réseau")
    assert "name \\udcff nic=réseau\n" in capfd.readouterr().err


def test_file_gets_the_same_lines_with_the_time(
    log: Log, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "multinic.log"
    log.configure(file=str(file), level="info")
    log.info("first")
    log.error("second")
    lines = file.read_text().splitlines(keepends=True)
    stamps = [line.partition(" ")[0] for line in lines]
    assert [] == [s for s in stamps if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", s)]
    assert capfd.readouterr().err == "".join(line.partition(" ")[2] for line in lines)
    assert 0o600 == file.stat().st_mode & 0o777


def test_file_is_appended_to(log: Log, tmp_path: Path) -> None:
    file = tmp_path / "multinic.log"
    file.write_text("kept\n")
    log.configure(file=str(file), level="info")
    log.info("event")
    assert ["kept", "event"] == re.findall("kept|event", file.read_text())


def test_planted_link_is_not_followed(
    log: Log, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    (tmp_path / "multinic.log").symlink_to(victim)
    log.configure(file=str(tmp_path / "multinic.log"), level="info")
    log.info("event")
    assert "untouched" == victim.read_text()
    assert f"cannot log to {tmp_path / 'multinic.log'}" in capfd.readouterr().err


def test_file_that_cannot_be_opened_is_told_once(
    log: Log, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log.configure(file=str(tmp_path / "missing" / "multinic.log"), level="info")
    log.info("first")
    log.info("second")
    assert ["first", "cannot log to", "second"] == re.findall(
        "first|cannot log to|second", capfd.readouterr().err
    )


def test_full_disk_fails_no_pod(log: Log, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(_descriptor: int, _content: bytes) -> int:
        raise OSError(28, "No space left on device")

    log.configure(file=str(tmp_path / "multinic.log"), level="info")
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        log.info("event")
    assert "" == (tmp_path / "multinic.log").read_text()
