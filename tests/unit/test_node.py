from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from multinic_cni.conf.node import Node, read_node
from multinic_cni.errors import BAD_CONF, DECODE_FAILURE, IO_FAILURE, CniError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", Node()),
        ('{"hostIndex": 0}', Node(host_index=0)),
        ('{"hostIndex": 7, "nodeName": "node-a"}', Node(host_index=7, name="node-a")),
        ('{"hostIndex": null, "nodeName": null}', Node()),
    ],
)
def test_read(tmp_path: Path, text: str, expected: Node) -> None:
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
    assert Node() == read_node(str(tmp_path / "node.json"))


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("", DECODE_FAILURE, "is empty"),
        ("{", DECODE_FAILURE, "is not JSON"),
        ("[]", BAD_CONF, "is not a JSON object"),
        ('{"hostIndex": -1}', BAD_CONF, "hostIndex must be a whole number from 0, not -1"),
        ('{"hostIndex": "1"}', BAD_CONF, "hostIndex must be a whole number from 0, not '1'"),
        ('{"hostIndex": true}', BAD_CONF, "hostIndex must be a whole number from 0, not True"),
        ('{"nodeName": 7}', BAD_CONF, "nodeName must be a string"),
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
