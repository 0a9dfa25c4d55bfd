"""What probers say of NICs: which words count, and which say nothing."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from multinic_selectors.health import LARGEST, Health

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")

NOW = 1_796_126_400.5  # half a second after 2026-12-01T12:00:00Z
LATER, BEFORE = "2026-12-01T12:00:01Z", "2026-12-01T12:00:00Z"


def decoded(content: bytes) -> object:
    try:
        return json.loads(content)
    except ValueError:
        return None


def word(folder: Path, nic: str = "rail0") -> str | None:
    return Health(str(folder), decoded, lambda: NOW).word_on(nic)


def said(folder: Path, document: object, nic: str = "rail0") -> str | None:
    (folder / f"{nic}.json").write_text(json.dumps(document))
    return word(folder, nic)


def sick(**words: Any) -> dict[str, Any]:  # noqa: ANN401 - what probers may write
    document = {"healthy": False, "reason": "BER 1e-9", "expires": LATER, **words}
    return {key: value for key, value in document.items() if value is not None}


def test_sick_and_well(tmp_path: Path) -> None:
    file = f"(says {tmp_path}/rail0.json)"
    assert f"BER 1e-9 {file}" == said(tmp_path, sick())
    assert f"it is unhealthy {file}" == said(tmp_path, sick(reason=None))
    assert f"it is unhealthy {file}" == said(tmp_path, sick(reason=" \n"))
    assert "" == said(tmp_path, sick(healthy=True))
    assert "" == said(tmp_path, {"healthy": True, "expires": LATER, "prober": {"version": 3}})
    assert word(tmp_path, "rail1") is None


@pytest.mark.parametrize(
    "expires", [LATER, "2026-12-01T13:00:01+01:00", NOW + 0.1, int(NOW) + 1, 10**400, 1e300]
)
def test_word_that_lasts(tmp_path: Path, expires: object) -> None:
    assert "" == said(tmp_path, sick(healthy=True, expires=expires))


@pytest.mark.parametrize(
    "expires",
    [
        *(BEFORE, "2026-12-01T12:30:00+01:00", NOW, int(NOW), 0, -1),
        *(None, "", "never", "tomorrow", "1796126500", "2026-12-01T12:00:01"),
        *(True, False, [], {}, [LATER]),
    ],
)
def test_word_that_has_expired_or_names_no_end(tmp_path: Path, expires: object) -> None:
    assert said(tmp_path, sick(expires=expires)) is None


@pytest.mark.parametrize(
    "document",
    [
        None,
        True,
        7,
        "sick",
        [],
        [sick()],
        {},
        sick(healthy=None),
        sick(healthy=0),
        sick(healthy=1),
        sick(healthy="false"),
        sick(reason=7),
        sick(reason=["BER"]),
        sick(healthy=True, reason=7),
    ],
)
def test_words_of_wrong_types_say_nothing(tmp_path: Path, document: object) -> None:
    assert said(tmp_path, document) is None


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff", b"{}{}", b'{"healthy": false', b"nan", b"\0" * 100]
)
def test_damaged_file_says_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "rail0.json").write_bytes(content)
    assert word(tmp_path) is None


def test_size_has_a_bound(tmp_path: Path) -> None:
    text = json.dumps(sick(healthy=True))
    file = tmp_path / "rail0.json"
    file.write_text(text.ljust(LARGEST))
    assert "" == word(tmp_path)
    file.write_text(text.ljust(LARGEST + 1))
    assert word(tmp_path) is None
    os.truncate(file, 1 << 40)  # a hole: nobody reads a tebibyte
    assert word(tmp_path) is None


def test_only_a_plain_file_is_read(tmp_path: Path) -> None:
    said(tmp_path, sick(), "real")
    (tmp_path / "link.json").symlink_to("real.json")
    (tmp_path / "dangling.json").symlink_to("nowhere")
    (tmp_path / "loop.json").symlink_to("loop.json")
    (tmp_path / "folder.json").mkdir()
    os.mkfifo(tmp_path / "fifo.json")  # nobody writes: to wait would be for ever
    for name in ("link", "dangling", "loop", "folder", "fifo"):
        assert word(tmp_path, name) is None
    assert word(tmp_path, "real")
    os.link(tmp_path / "real.json", tmp_path / "other.json")
    assert word(tmp_path, "other")


def test_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said(tmp_path, sick())

    def fail(*_arguments: object) -> bytes:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "read", fail)
        assert word(tmp_path) is None
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", fail)
        assert word(tmp_path) is None
    assert word(tmp_path) is not None


def test_folder_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert word(tmp_path / "file") is None
    assert word(tmp_path / "nowhere") is None


@pytest.mark.parametrize(
    "nic", ["é0", "eth0.5", "a b", "a\\b", "'\"$x", "..a", "-n", "%s{}", "\udcff", "x" * 15]
)
def test_nics_with_odd_names(tmp_path: Path, nic: str) -> None:
    assert said(tmp_path, sick(healthy=True), nic) == ""


@pytest.mark.parametrize("nic", ["../rail0", "/rail0", "", ".", "..", "a\0b", "x" * 5000])
def test_names_that_no_nic_has(tmp_path: Path, nic: str) -> None:
    said(tmp_path, sick())
    folder = tmp_path / "health"
    folder.mkdir()
    assert word(folder, nic) is None


def test_reason_is_one_short_line(tmp_path: Path) -> None:
    reason = "too\n\thot\x1b[31m\u202e\u200b é " + "x" * 300
    told = said(tmp_path, sick(reason=reason))
    assert told is not None
    shown = told.removesuffix(f" (says {tmp_path}/rail0.json)")
    assert shown.startswith("too hot [31m é xxx")
    assert 200 == len(shown)
    assert shown.isprintable()
