"""What a call costs when tens of thousands of addresses are reserved: the same as on a new node."""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
import time
from struct import pack
from typing import TYPE_CHECKING, Any

import pytest

from tests.netns.measuring import job, make_instant_delegate, measure
from tests.netns.state import State
from tests.pytest_netns import DELEGATES, rail_net

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from tests.pytest_netns import Attachment, Document, Namespace, Runtime

    Report = Callable[[str, float], None]

NO_ADDRESS = 101
NICS = 4
SIZES = (0, 1_000, 10_000, 60_000)
WHOLE_BLOCK, SIXTY_THOUSAND = 65_534, 60_000
RESERVED = (1 << 64) - 1  # the word of an address that is held
ROUNDS = 41  # as for the hot path: fewer differ from run to run
MOST_TIMES_EMPTY = 1.2
MOST_TIMES_EMPTY_WHEN_CROWDED = 3.0


def address(host: int) -> str:
    return f"172.16.{host >> 8}.{host & 255}"


def one_pool(size: int) -> dict[str, Any]:
    """Return a conf of four NICs that all take their addresses from one pool."""
    nets = [rail_net(rail) for rail in range(1, NICS + 1)]
    shared = [{"subnet": "172.16.0.0/16", "rangeStart": address(1), "rangeEnd": address(size)}]
    return {
        "masterNets": nets,
        "ipam": {"type": "multi-nic-ipam", "ranges": dict.fromkeys(nets, shared)},
    }


class Nodes:
    """Data directories of nodes that are more or less full; the calls go to one pod."""

    def __init__(self, runtime: Runtime, pod: Namespace, folder: Path) -> None:
        self._runtime, self._pod, self._folder = runtime, pod, folder
        program = make_instant_delegate(folder)
        self._path = f"{program.parent}:{DELEGATES}"

    def make(self, name: str, pool_size: int, hosts: Sequence[int] = ()) -> Attachment:
        """Make a node where these addresses are reserved, for living pods of four NICs each."""
        runtime = self._runtime.but(data_dir=self._folder / name, path=self._path)
        conf = runtime.conf(cniVersion="1.0.0", plugin={"type": "instant"}, **one_pool(pool_size))
        attachment = runtime.attachment(self._pod, conf)
        attachment.add()
        (record,) = State(runtime.data_dir).records().values()
        attachment.delete().succeeded()
        self._plant(runtime.data_dir, record, hosts)
        return attachment

    def _plant(self, data_dir: Path, record: Document, hosts: Sequence[int]) -> None:
        block = data_dir / "pools/172.16.0.0-16"
        for first in range(0, len(hosts), NICS):
            names = [address(host) for host in hosts[first : first + NICS]]
            container = f"planted-{first}"
            (block / names[0]).write_bytes(f"{container}\r\nnet1".encode())
            for name in names[1:]:
                os.link(block / names[0], block / name)
            for nic, name in zip(record["nics"], names, strict=True):
                nic["addresses"][0]["address"] = name
            file = data_dir / f"attachments/rails/{container}:net1.json"
            file.write_text(json.dumps(record | {"containerID": container}))
        if hosts:
            (block / "last_reserved_ip.0").write_text(address(hosts[-1]))
        write_words(data_dir, dict.fromkeys(hosts, RESERVED))


def write_words(data_dir: Path, words: dict[int, int]) -> None:
    """Write whose turn it is as calls would have left it; 0 for an address that was never given."""
    hosts = range(1 << 16)
    (data_dir / "turns/172.16.0.0").write_bytes(
        pack(f"={len(hosts)}Q", *(words.get(host, 0) for host in hosts))
    )


@pytest.fixture
def nodes(runtime: Runtime, pod: Namespace, tmp_path: Path) -> Iterator[Nodes]:
    folder = tmp_path / "nodes"
    folder.mkdir()
    yield Nodes(runtime, pod, folder)
    shutil.rmtree(folder)  # 100,000 files: pytest would keep those of three runs


@pytest.fixture
def report(record_testsuite_property: Callable[[str, object], None]) -> Report:
    def figure(name: str, value: float) -> None:
        record_testsuite_property(name, round(value, 2))
        print(f"\n{name}: {value:.2f}", end="")  # noqa: T201 - for whoever asks with `pytest -s`

    return figure


def medians(columns: Sequence[Sequence[float]]) -> list[float]:
    return [statistics.median(column) for column in columns]


def test_add_and_del_with_many_reservations(runtime: Runtime, nodes: Nodes, report: Report) -> None:
    attachments = [nodes.make(str(size), WHOLE_BLOCK, range(1, size + 1)) for size in SIZES]
    jobs = [job(each, command) for each in attachments for command in ("ADD", "DEL")]
    figures = medians(measure(runtime.node, ROUNDS, jobs))
    for command, own in (("ADD", figures[0::2]), ("DEL", figures[1::2])):
        for size, milliseconds in zip(SIZES, own, strict=True):
            report(f"{command} at {size} reservations, CPU ms", milliseconds)
            report(f"{command} at {size} reservations against none", milliseconds / own[0])
        assert max(own) <= MOST_TIMES_EMPTY * own[0], own


def test_pool_that_is_99_percent_full(runtime: Runtime, nodes: Nodes, report: Report) -> None:
    """The free ones lie anywhere; all were given before and freed at some time."""
    chance = random.Random(3)  # noqa: S311 - no secret
    hosts = list(range(1, SIXTY_THOUSAND + 1))
    chance.shuffle(hosts)
    taken, free = hosts[: len(hosts) * 99 // 100], hosts[len(hosts) * 99 // 100 :]
    empty = nodes.make("empty", SIXTY_THOUSAND)
    crowded = nodes.make("crowded", SIXTY_THOUSAND, taken)
    yesterday = time.time_ns() // 1000 - 86_400_000_000
    words = dict.fromkeys(taken, RESERVED)
    words |= {host: yesterday + chance.randrange(1 << 32) for host in free}
    write_words(crowded.runtime.data_dir, words)
    jobs = [job(each, command) for each in (empty, crowded) for command in ("ADD", "DEL")]

    add, delete, crowded_add, crowded_delete = medians(measure(runtime.node, ROUNDS, jobs))

    report("ADD in a pool of 60,000 that is 99 % full, against an empty one", crowded_add / add)
    report(
        "DEL in a pool of 60,000 that is 99 % full, against an empty one", crowded_delete / delete
    )
    assert crowded_add <= MOST_TIMES_EMPTY_WHEN_CROWDED * add
    assert crowded_delete <= MOST_TIMES_EMPTY_WHEN_CROWDED * delete

    # The hints are lost: one call pays for learning them anew from the names of the files.
    shutil.rmtree(crowded.runtime.data_dir / "turns")
    ((first,), (_,)) = measure(runtime.node, 1, jobs[2:])
    report("ADD there that has lost the hints, once, CPU ms", first)
    add, _, crowded_add, _ = medians(measure(runtime.node, ROUNDS, jobs))
    report("ADD there afterwards, against an empty one", crowded_add / add)
    assert crowded_add <= MOST_TIMES_EMPTY_WHEN_CROWDED * add


def test_pool_that_is_filled_to_its_last_address_and_emptied(nodes: Nodes, pod: Namespace) -> None:
    pods = 12
    attachment = nodes.make("node", pods * NICS)
    state = State(attachment.runtime.data_dir)
    attachments = [
        attachment.runtime.attachment(pod, attachment.conf, ifname=f"net{number}")
        for number in range(pods)
    ]
    every_address = {address(host) for host in range(1, pods * NICS + 1)}
    for _ in range(2):
        for each in attachments:
            each.add()
        assert state.addresses().keys() == every_address

        message = attachment.call("ADD", CNI_IFNAME="another").error(NO_ADDRESS)

        assert "48 of its 48 addresses are reserved; none of them stale" in message
        for each in attachments:
            each.delete().succeeded()
        assert state.left() == []
