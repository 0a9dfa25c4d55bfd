from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni.conf import class_files
from multinic_cni.conf.class_files import known_classes
from multinic_cni.errors import BAD_CONF, DECODE_FAILURE, IO_FAILURE, CniError

if TYPE_CHECKING:
    from pathlib import Path

FAST: Any = [{"vendor": "15b3", "products": ["0x101B"], "minSpeed": "100Gbps"}]
SLOW: Any = [{"driver": "igb"}, {"minSpeed": "1G"}]


def write(folder: Path, name: str, document: object) -> None:
    text = document if isinstance(document, str) else json.dumps(document)
    (folder / name).write_text(text)


def test_files_and_the_conf(tmp_path: Path) -> None:
    write(tmp_path, "10-a.json", {"fast": FAST, "slow": SLOW})
    write(tmp_path, "20-b.json", {"other": SLOW})
    own = {"mine": SLOW, "slow": FAST}
    expected = {"fast": FAST, "slow": FAST, "other": SLOW, "mine": SLOW}
    assert expected == known_classes(own, str(tmp_path), ["fast"])


def test_no_folder_and_no_files(tmp_path: Path) -> None:
    assert {} == known_classes({}, str(tmp_path / "none"), ["fast"])
    assert {} == known_classes({}, str(tmp_path), [])


def test_folder_is_not_read_for_the_confs_own_classes(tmp_path: Path) -> None:
    write(tmp_path, "broken.json", "{")
    assert {"fast": FAST} == known_classes({"fast": FAST}, str(tmp_path), ["fast", "fast"])
    with pytest.raises(CniError, match=r"broken\.json"):
        known_classes({"fast": FAST}, str(tmp_path), ["fast", "slow"])
    with pytest.raises(CniError, match=r"broken\.json"):
        known_classes({"fast": FAST}, str(tmp_path), [])


def test_what_is_no_file_of_classes_is_left_alone(tmp_path: Path) -> None:
    write(tmp_path, "README", "{")
    write(tmp_path, "a.json.bak", "{")
    write(tmp_path, ".a.json", "{")
    assert {} == known_classes({}, str(tmp_path), ["fast"])


def test_mounted_config_map(tmp_path: Path) -> None:
    """Kubernetes mounts links to files of a folder beside them."""
    (tmp_path / "..data").mkdir()
    write(tmp_path / "..data", "site.json", {"fast": FAST})
    (tmp_path / "site.json").symlink_to("..data/site.json")
    assert {"fast": FAST} == known_classes({}, str(tmp_path), ["fast"])


def test_link_to_nothing_and_a_file_that_goes_say_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.json").symlink_to("gone.json")
    assert {} == known_classes({}, str(tmp_path), ["fast"])


def refusal(folder: Path) -> tuple[int, str]:
    with pytest.raises(CniError) as raised:
        known_classes({}, str(folder), ["fast"])
    return raised.value.code, raised.value.message


def test_one_class_in_two_files(tmp_path: Path) -> None:
    write(tmp_path, "a.json", {"fast": FAST})
    write(tmp_path, "b.json", {"slow": SLOW, "fast": FAST})
    message = f"class 'fast' is defined in {tmp_path}/a.json and in {tmp_path}/b.json"
    assert (BAD_CONF, message) == refusal(tmp_path)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "must be an object, not a list"),
        ({"fast": {}}, "fast: must be a list, not an object"),
        ({"fast": None}, "fast: must be a list, not null"),
        ({"fast": []}, "fast: must have 1 or more items, not 0"),
        ({"fast": ["15b3"]}, "fast[0]: must be an object, not a string"),
        ({"fast": [{"vendor": "mellanox"}]}, "fast[0].vendor: 'mellanox' is no PCI id"),
        ({"fast": [{"vendor": 5555}]}, "fast[0].vendor: must be a string, not a number"),
        ({"fast": [{"products": "101b"}]}, "fast[0].products: must be a list, not a string"),
        ({"fast": [{"products": []}]}, "fast[0].products: must have 1 or more items, not 0"),
        ({"fast": [{"products": ["101b", "x"]}]}, "fast[0].products[1]: 'x' is no PCI id"),
        ({"fast": [{"driver": ["igb"]}]}, "fast[0].driver: must be a string, not a list"),
        ({"fast": [{"minSpeed": 100}]}, "fast[0].minSpeed: must be a string, not a number"),
        ({"fast": [{"minSpeed": "quick"}]}, "fast[0].minSpeed: 'quick' is no bandwidth such as"),
        ({"fast": [{"product": ["101b"]}]}, "fast[0].product: unknown key with value"),
        ({"fast": [{"driver": "igb"}, {}]}, "fast[1]: says nothing, so that it would fit every"),
        ({"a b": [{"vendor": None}]}, "['a b'][0]: says nothing"),
    ],
    ids=repr,
)
def test_wrong_file(tmp_path: Path, document: object, message: str) -> None:
    write(tmp_path, "a.json", document)
    code, said = refusal(tmp_path)
    assert BAD_CONF == code
    assert said.startswith(f"{tmp_path}/a.json: {message}")


@pytest.mark.parametrize("content", ["", "{", '{"fast": 1} {}', '{"fast": NaN}', "[" * 5000])
def test_no_json(tmp_path: Path, content: str) -> None:
    write(tmp_path, "a.json", content)
    code, said = refusal(tmp_path)
    assert DECODE_FAILURE == code
    assert said.startswith(f"{tmp_path}/a.json ")


def test_file_that_is_too_large(tmp_path: Path) -> None:
    write(tmp_path, "a.json", json.dumps({"fast": FAST}) + " " * class_files.LARGEST)
    message = f"{tmp_path}/a.json is no file of classes: it must be a plain file of at most 64 KiB"
    assert (BAD_CONF, message) == refusal(tmp_path)


def test_folder_and_fifo_in_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir()
    assert "a.json is no file of classes" in refusal(tmp_path)[1]
    (tmp_path / "a.json").rmdir()
    os.mkfifo(tmp_path / "a.json")
    assert "a.json is no file of classes" in refusal(tmp_path)[1]


def test_link_to_itself(tmp_path: Path) -> None:
    (tmp_path / "a.json").symlink_to("a.json")
    code, said = refusal(tmp_path)
    assert IO_FAILURE == code
    assert f"{tmp_path}/a.json" in said


def test_file_in_place_of_the_folder(tmp_path: Path) -> None:
    write(tmp_path, "classes.d", "{}")
    code, said = refusal(tmp_path / "classes.d")
    assert IO_FAILURE == code
    assert f"{tmp_path}/classes.d" in said


def test_too_many_files(tmp_path: Path) -> None:
    for number in range(class_files.MOST + 1):
        write(tmp_path, f"{number}.json", {})
    message = f"{tmp_path} has 257 files of classes: at most 256 are read"
    assert (BAD_CONF, message) == refusal(tmp_path)
