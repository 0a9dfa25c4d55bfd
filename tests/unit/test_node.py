from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from multinic_cni.conf.node import NodeFile, read_node
from multinic_cni.errors import BAD_CONF, DECODE_FAILURE, IO_FAILURE, CniError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", NodeFile()),
        ('{"hostIndex": 0}', NodeFile(host_index=0)),
        ('{"hostIndex": 7, "nodeName": "node-a"}', NodeFile(host_index=7, name="node-a")),
        ('{"hostIndex": null, "nodeName": null}', NodeFile()),
    ],
)
def test_read(tmp_path: Path, text: str, expected: NodeFile) -> None:
    file = tmp_path / "node.json"
    file.write_text(text)
    assert expected == read_node(str(file))


def test_misspelt_key_is_no_silence(tmp_path: Path) -> None:
    """Else the conf's hosts would decide, and perhaps another node's block."""
    file = tmp_path / "node.json"
    file.write_text('{"hostindex": 3}')
    with pytest.raises(CniError) as raised:
        read_node(str(file))
    assert (BAD_CONF, True) == (raised.value.code, "hostindex" in raised.value.message)


def test_missing_file_says_nothing(tmp_path: Path) -> None:
    assert NodeFile() == read_node(str(tmp_path / "node.json"))


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("", DECODE_FAILURE, "is empty"),
        ("{", DECODE_FAILURE, "is not JSON"),
        ("[]", BAD_CONF, "must be an object, not a list"),
        ('{"hostIndex": -1}', BAD_CONF, "hostIndex: must be at least 0, not -1"),
        ('{"hostIndex": "1"}', BAD_CONF, "hostIndex: must be a whole number, not a string"),
        ('{"hostIndex": true}', BAD_CONF, "hostIndex: must be a whole number, not a boolean"),
        ('{"nodeName": 7}', BAD_CONF, "nodeName: must be a string, not a number"),
    ],
)
def test_wrong(tmp_path: Path, text: str, code: int, message: str) -> None:
    file = tmp_path / "node.json"
    file.write_text(text)
    with pytest.raises(CniError) as raised:
        read_node(str(file))
    assert code == raised.value.code
    assert message in raised.value.message
    assert str(file) in raised.value.message


def test_unreadable(tmp_path: Path) -> None:
    with pytest.raises(CniError) as raised:
        read_node(str(tmp_path))
    assert IO_FAILURE == raised.value.code


@pytest.mark.parametrize("kind", ["fifo", "endless", "folder"])
def test_what_is_no_file_of_ours_never_holds_a_call(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "node.json"
    if kind == "fifo":
        os.mkfifo(file)
    elif kind == "endless":
        file.symlink_to("/dev/zero")
    else:
        file.mkdir()
    with pytest.raises(CniError, match="cannot read the node's file: it is no regular file"):
        read_node(str(file))


def test_file_of_megabytes_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "node.json"
    file.write_text(" " * (1 << 20) + "{}")
    with pytest.raises(CniError, match="it has more than 1048576 bytes") as raised:
        read_node(str(file))
    assert IO_FAILURE == raised.value.code
