"""Symbolic links that somebody has put where the plugin keeps its state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.netns.confs import ranges

if TYPE_CHECKING:
    from pathlib import Path

    from tests.netns.state import State
    from tests.pytest_netns import Namespace, Runtime

IO_FAILURE = 5
PLANTED = [
    "attachments",
    "pools",
    "lock",
    "attachments/rails",
    "attachments/rails/{key}.json",
    "attachments/rails/{key}.lock",
    "attachments/rails/.{key}.json.new",
    "pools/10.1.0.0-24",
    "pools/.reservation",
    "pools/10.1.0.0-24/10.1.0.100",
    "pools/10.1.0.0-24/last_reserved_ip.10.1.0.100",
    "pools/10.1.0.0-24/.last_reserved_ip.10.1.0.100.new",
]


@pytest.mark.parametrize("dangling", [False, True], ids=["", "dangling"])
@pytest.mark.parametrize("planted", PLANTED)
def test_planted_symlink_is_never_followed(
    *, runtime: Runtime, pod: Namespace, state: State, tmp_path: Path, planted: str, dangling: bool
) -> None:
    """Whether the call fails or works around it: nothing outside is read, changed or made."""
    attachment = runtime.attachment(pod, runtime.conf(cniVersion="1.0.0", **ranges(1, 2)))
    outside = tmp_path / "outside"
    is_folder = "." not in planted.rsplit("/", maxsplit=1)[-1] and planted != "lock"
    is_folder = is_folder or planted == "pools/10.1.0.0-24"
    if not dangling and is_folder:
        outside.mkdir()
    elif not dangling:
        outside.write_text("precious")
    link = state.root / planted.format(key=f"c-{pod.name}:net1")
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside)

    added = attachment.call("ADD")
    deleted = attachment.call("DEL")

    for answer in (added, deleted):
        assert answer.status == 0 or answer.document["code"] == IO_FAILURE, answer
    assert pod.links() == {}
    if dangling:
        assert not outside.exists()
    elif outside.is_dir():
        assert list(outside.iterdir()) == []
    else:
        assert outside.read_text() == "precious"
