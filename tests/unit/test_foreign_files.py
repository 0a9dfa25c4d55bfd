"""Files and answers of other programs: whatever they hold, readers raise their own errors only."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multinic_cni.conf.class_files import known_classes
from multinic_cni.conf.node import read_node
from multinic_cni.errors import CniError
from multinic_cni.jsontext import parse
from multinic_cni.nccl_topology import TopologyError, read_topology
from multinic_cni.pod_devices import checkpoint, grpc, pod_resources
from multinic_cni.pod_devices.functions import Functions
from multinic_cni.pod_devices.hpack import HpackError, decode
from multinic_cni.pod_devices.nvidia import NvidiaGpus
from multinic_cni.pod_devices.protobuf import ProtobufError, Reader
from multinic_selectors.foreign_files import ForeignFileError, read_foreign, small_number
from multinic_selectors.health import Health
from tests.unit.gpus import path_of
from tests.unit.kubelets import claim, claimed, container, devices, pod
from tests.unit.machines import machine

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from multinic_cni.host import Host

MANY_DIGITS = "9" * 5000  # more than Python makes a number of
DEEP = 3000

# --- what others might write

NASTY = st.sampled_from(
    ["", "\0", "..", "/", "\ud800", "\udc80", MANY_DIGITS, "٣", "-1", "1e999", "a" * 5000, "gpu-"]
)
TEXTS = NASTY | st.text(max_size=20)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS


def json_of(*keys: str) -> st.SearchStrategy[bytes]:
    """Return documents that are nearly what a reader wants: its keys with any values."""
    names = st.sampled_from(keys) | TEXTS

    def larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4)

    documents = st.recursive(SCALARS, larger, max_leaves=12)
    deep = st.sampled_from(['{"a":' * DEEP, "[" * DEEP + "]" * DEEP, f"[{MANY_DIGITS}]"])
    texts = documents.map(json.dumps) | deep
    return texts.map(str.encode) | st.binary(max_size=60)


CHECKPOINTS = json_of("Data", "PodDeviceEntries", "PodUID", "ResourceName", "DeviceIDs")
CLASSES = json_of("vendor", "products", "driver", "minSpeed", "fast")
WORDS = json_of("healthy", "reason", "expires")
NODES = json_of("hostIndex", "nodeName", "rails", "railPciAddresses", "speeds", "paths", "nvidia")

TAGS = st.sampled_from(["system", "cpu", "pci", "gpu", "x"])
ATTRIBUTES = st.dictionaries(
    st.sampled_from(["busid", "numaid", "x"]),
    st.sampled_from(["0000:07:00.0", "ffff:ff:ff.0", "-1", "0", "&#xd800;", "&lol;"])
    | NASTY.filter(lambda text: text.isascii() and "\0" not in text),
    max_size=2,
)


@st.composite
def xml(draw: st.DrawFn, depth: int = 0) -> str:
    tag = draw(TAGS) if depth else "system"
    words = "".join(f' {key}="{value}"' for key, value in draw(ATTRIBUTES).items())
    inner = draw(st.lists(xml(depth + 1), max_size=2)) if depth < 4 else []
    return f"<{tag}{words}>{''.join(inner)}</{tag}>"


ENCODINGS = ["utf-8", "utf-7", "utf-16", "utf-32", "cp037", "idna", "rot13", "hex", "nonsense"]
HEADS = st.sampled_from(["", *(f'<?xml version="1.0" encoding="{each}"?>' for each in ENCODINGS)])
TOPOLOGIES = st.builds(lambda head, text: f"{head}{text}".encode(), HEADS, xml()) | st.binary()

ANSWERS = st.binary(max_size=80) | st.builds(
    lambda name, given, cdi, cut: pod(
        "train", name, container(given, dynamic=(claimed(claim("d", name, cdi)),))
    )[: cut or None],
    st.sampled_from(["worker-0", "other"]),
    st.binary(max_size=30) | st.builds(devices, st.just("r"), st.just("GPU-x")),
    st.text(st.characters(codec="utf-8"), max_size=50),
    st.integers(-30, 0),
)


def attempt(work: Callable[[], object], *errors: type[Exception]) -> None:
    with contextlib.suppress(*errors):
        work()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("foreign")


@pytest.fixture(scope="module")
def dgx(tmp_path_factory: pytest.TempPathFactory) -> Host:
    return machine("dgx-a100", tmp_path_factory.mktemp("dgx"))


@settings(max_examples=300)
@given(content=TOPOLOGIES)
def test_topology_files(content: bytes) -> None:
    attempt(lambda: read_topology(content), TopologyError)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_topology_file_of_any_encoding_is_read_as_what_it_is(encoding: str) -> None:
    text = '<system><cpu numaid="1"><pci busid="0000:07:00.0"/></cpu></system>'
    content = f'<?xml version="1.0" encoding="{encoding}"?>{text}'.encode()
    assert {"0000:07:00": 1} == {slot: at.numa for slot, at in read_topology(content).items()}


def test_numa_node_of_thousands_of_digits_is_unknown() -> None:
    text = f'<system><cpu numaid="{MANY_DIGITS}"><pci busid="0000:07:00.0"/></cpu></system>'
    assert [None] == [place.numa for place in read_topology(text.encode()).values()]


@settings(max_examples=300)
@given(content=CHECKPOINTS, uid=st.sampled_from(["uid", "", "\ud800"]))
def test_checkpoints(folder: Path, content: bytes, uid: str) -> None:
    path = folder / "checkpoint"
    path.write_bytes(content.replace(b'"PodUID": ""', b'"PodUID": "uid"'))
    for resource, device in checkpoint.given_by_checkpoint(str(path), uid):
        assert isinstance(resource, str)
        assert isinstance(device, str)


@pytest.mark.parametrize("depth", [10, 900, DEEP])
def test_resource_name_that_is_nested(folder: Path, depth: int) -> None:
    """The file is only looked at, so that nobody has counted how deep it is."""
    name = "[" * depth + "]" * depth
    entry = f'{{"PodUID": "uid", "ResourceName": {name}, "DeviceIDs": ["GPU-x", 1, [], ""]}}'
    path = folder / "checkpoint"
    path.write_text(f'{{"Data": {{"PodDeviceEntries": [{entry}]}}}}')
    expected = [("", "GPU-x")] if depth < DEEP else []
    assert expected == checkpoint.given_by_checkpoint(str(path), "uid")


@settings(max_examples=300)
@given(owner=st.sampled_from(["", "gpu.nvidia.com", "gpu.amd.com"]), name=TEXTS)
def test_names_of_devices(dgx: Host, owner: str, name: str) -> None:
    for each in (name, f"gpu-{name}", f"GPU-{name}", f"card{name}", f"0000-{name}-00-0"):
        Functions(dgx).all_of([(owner, each)])


@settings(max_examples=200)
@given(content=st.binary() | TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_gpus_of_nvidia(folder: Path, content: bytes) -> None:
    path = path_of(f"{folder}/gpus/0000:07:00.0/information")
    path.write_bytes(b"Bus Location: " + content + b"\nDevice Minor: " + content)
    gpus = NvidiaGpus(f"{folder}/gpus")
    assert "" == gpus.with_uuid("GPU-x")
    assert gpus.with_minor(None) == ""


@settings(max_examples=300)
@given(answer=ANSWERS)
def test_answers_of_the_kubelet(answer: bytes) -> None:
    attempt(
        lambda: list(pod_resources._given_to("train", "worker-0", answer, Reader(float("inf")))),
        ProtobufError,
    )
    attempt(lambda: decode(answer), HpackError)


@settings(max_examples=200)
@given(words=st.lists(st.binary(max_size=40), max_size=4))
def test_words_of_a_server(words: list[bytes]) -> None:
    """Frames are cut from the wire by their lengths: HTTP/2's settings first, then anything."""
    wire = _Wire(bytes.fromhex("000000 04 00 00000000") + b"".join(map(_framed, words)))
    with patch.object(grpc, "socket", lambda *_arguments: wire):
        attempt(
            lambda: grpc.call("/nowhere", "/x", deadline=float("inf"), most=1 << 16),
            grpc.GrpcError,
            OSError,
        )


class _Wire:
    """A socket from which a server's words come, and then nothing."""

    def __init__(self, words: bytes) -> None:
        self._words = words

    def recv(self, count: int) -> bytes:
        received, self._words = self._words[:count], self._words[count:]
        return received

    def ignore(self, *_arguments: object) -> None:
        pass

    connect = sendall = settimeout = ignore

    def close(self) -> None:
        pass


def _framed(content: bytes) -> bytes:
    """Return a frame on the call's stream; the content's first two bytes are kind and flags."""
    kind, flags, *payload = (*content, 1, 0)[: max(2, len(content))]
    return len(payload).to_bytes(3) + bytes([kind % 11, flags, 0, 0, 0, 1, *payload])


@settings(max_examples=300)
@given(content=CLASSES)
def test_files_of_classes(folder: Path, content: bytes) -> None:
    path = path_of(f"{folder}/classes.d/a.json")
    path.write_bytes(content)
    attempt(lambda: known_classes({}, str(path.parent), ["fast"]), CniError)


@settings(max_examples=300)
@given(content=NODES)
def test_files_of_nodes(folder: Path, content: bytes) -> None:
    path = folder / "node.json"
    path.write_bytes(content)
    attempt(lambda: read_node(str(path)), CniError)


@settings(max_examples=300)
@given(content=WORDS, nic=TEXTS)
def test_words_on_health(folder: Path, content: bytes, nic: str) -> None:
    """Even if nobody has looked for what cannot be written again."""
    path_of(f"{folder}/health/eth0.json").write_bytes(content)
    health = Health(f"{folder}/health", _parsed)
    for name in ("eth0", nic):
        word = health.word_on(name)
        assert word is None or word.isprintable()


def _parsed(content: bytes) -> object:
    try:
        return parse(content, "a prober's word")
    except CniError:
        return None


# --- how they are read


def test_file_that_is_read_in_pieces(tmp_path: Path) -> None:
    """A read may be short: only nothing is the end."""
    (tmp_path / "a").write_bytes(b"abcdefg" * 1000)
    read = os.read
    with patch("os.read", lambda descriptor, count: read(descriptor, min(count, 100))):
        assert b"abcdefg" * 1000 == read_foreign(str(tmp_path / "a"), 7000)
        with pytest.raises(ForeignFileError, match="more than 6999 bytes"):
            read_foreign(str(tmp_path / "a"), 6999)


def test_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    assert None is read_foreign(str(tmp_path / "none"), 1)
    assert None is read_foreign(str(tmp_path / "a/b"), 1)
    assert b"" == read_foreign(str(tmp_path / "a"), 0)
    with pytest.raises(ForeignFileError):
        read_foreign(str(tmp_path), 1)
    (tmp_path / "link").symlink_to("a")
    assert b"" == read_foreign(str(tmp_path / "link"), 1)
    with pytest.raises(OSError) as raised:  # noqa: PT011 - its number says which
        read_foreign(str(tmp_path / "link"), 1, os.O_NOFOLLOW)
    assert errno.ELOOP == raised.value.errno


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("007", 7), ("9" * 18, 10**18 - 1), ("9" * 19, None), (MANY_DIGITS, None)]
    + [(text, None) for text in ("", "-1", "+1", " 1", "1.0", "٣", "²", "1_0", "x")],
)
def test_small_numbers(text: str, number: int | None) -> None:
    assert number == small_number(text)
