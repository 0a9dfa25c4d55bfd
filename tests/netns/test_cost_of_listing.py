"""What it costs to choose NICs where nothing but their names is asked for.

What counts beyond the interpreter's own start: imports, dumps, inventory, choice.
"""

from __future__ import annotations

import re
import statistics
from typing import TYPE_CHECKING

import pytest

from tests.netns.confs import MASTER_NETS
from tests.netns.listing import HEAD, PYTHON
from tests.netns.measuring import measure
from tests.pytest_netns import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.netns.mounts import Mounts
    from tests.pytest_netns import Document, Namespace, Namespaces, Runtime

NICS, ROUNDS = 64, 15
MOST_TIMES_PYTHON = 1.5
MOST_TIMES_NAMED = 2.5
BARE = [PYTHON, "-I", "-S", "-E", "-c", "pass"]

IMPORT = (
    HEAD
    + """
from multinic_cni.host import nics
from multinic_selectors.candidates import Admin, Wish
from multinic_selectors.selection import select
"""
)
CHOOSE = (
    IMPORT
    + f"""
found = nics()
chosen = select(found, Admin(masters=["rail3", "rail5", "rail7", "rail60"]), Wish()).chosen
assert [choice.nic.name for choice in chosen] == ["rail3", "rail5", "rail7", "rail60"]
assert len(found) == {NICS} + 1
"""
)

# By a whole net conf, as an ADD chooses: all but the default route's are candidates.
BY_CONF = {
    "cniVersion": "1.0.0",
    "name": "rails",
    "type": "multinic-cni",
    "plugin": {"type": "macvlan"},
    "masters": ["rail*"],
    "attachPolicy": {"nics": 4},
    "dataDir": "/nowhere",
}
READ_CONF = (
    HEAD
    + f"""
from multinic_cni.choosing import choose
from multinic_cni.conf.netconf import read_net_conf
from multinic_cni.host import Host
conf = read_net_conf({BY_CONF!r}, "multinic-cni")
"""
)
CHOOSE_BY_CONF = (
    READ_CONF
    + f"""
host = Host()
chosen = choose(conf, host, lambda: (), dict).chosen
assert [choice.nic.name for choice in chosen] == ["rail1", "rail2", "rail3", "rail4"]
assert len(host.nics) == {NICS} + 1
"""
)


@pytest.fixture
def large(namespaces: Namespaces) -> Namespace:
    """Return a node with 64 NICs, each with an address of both families and a link-local one."""
    node = namespaces.make("node")
    pairs = [(first, first + 1) for first in range(0, NICS, 2)]
    node.ip(
        *(f"link add rail{one} type veth peer name rail{other}" for one, other in pairs),
        *(f"address add 10.{rail}.0.5/24 dev rail{rail}" for rail in range(NICS)),
        *(f"address add fd00:{rail}::5/64 dev rail{rail} nodad" for rail in range(NICS)),
        *(f"link set rail{rail} up" for rail in range(NICS)),
        "route add default via 10.0.0.1",
    )
    wait_until(lambda: "tentative" not in str(node.show("address")), "addresses stay")
    return node


def program(*words: str) -> Document:
    return {"command": list(words), "environment": {}, "stdin": ""}


def test_cpu_of_listing_64_nics_against_the_bare_interpreter(
    large: Namespace, record_testsuite_property: Callable[[str, object], None]
) -> None:
    python, imports, choice = medians(large, "pass", IMPORT, CHOOSE)
    figures = {"python": python, "imports": imports - python, "listing": choice - imports}
    for name, milliseconds in figures.items():
        record_testsuite_property(f"64_nics_{name}_cpu_ms", round(milliseconds, 2))
    assert choice - python <= MOST_TIMES_PYTHON * python, figures


def test_cpu_of_choosing_4_of_64_candidates_by_a_net_conf(
    large: Namespace, record_testsuite_property: Callable[[str, object], None]
) -> None:
    imports, named, conf, choice = medians(large, IMPORT, CHOOSE, READ_CONF, CHOOSE_BY_CONF)
    figures = {"of_four_named": named - imports, "of_all_by_conf": choice - conf}
    for name, milliseconds in figures.items():
        record_testsuite_property(f"64_nics_choice_{name}_cpu_ms", round(milliseconds, 2))
    # The lists of links, addresses and routes are most of either; the rest is small beside them.
    assert choice - conf <= MOST_TIMES_NAMED * (named - imports), figures


def medians(node: Namespace, *programs: str) -> list[float]:
    """Return the milliseconds of CPU of each program, executed side by side."""
    jobs = [program(*BARE[:-1], text) for text in programs]
    return [statistics.median(figures) for figures in measure(node, ROUNDS, jobs)]


# What only other policies, classes, rails, RDMA and given devices ask.
OF_OTHER_POLICIES = (
    '"/sys',
    "classes.d",
    "/proc/driver/nvidia",
    "kubelet",
    "nvidia-topologyd",
    "devinfo",
)


def files_of_add(runtime: Runtime, pod: Namespace, trace: Path, **keys: object) -> str:
    """Return what strace says of the files of an ADD, those of delegates left out."""
    traced = runtime.but(
        wrapper=(*runtime.wrapper, "strace", "-o", str(trace), "-e", "trace=%file")
    )
    traced.attachment(pod, traced.conf(masterNets=MASTER_NETS, **keys)).add()
    return trace.read_text()


def looked_at(trace: str) -> set[str]:
    return {word for word in OF_OTHER_POLICIES if word in trace}


def test_policy_none_looks_at_no_device(runtime: Runtime, pod: Namespace, tmp_path: Path) -> None:
    trace = files_of_add(runtime, pod, tmp_path / "trace", cniVersion="1.0.0")
    assert "/etc/cni/multinic/node.json" in trace  # strace has seen what it should
    assert looked_at(trace) == set()


def test_result_that_names_functions_reads_one_link_for_each_chosen_nic(
    runtime: Runtime, pod: Namespace, tmp_path: Path
) -> None:
    """From version 1.1.0 on the result has pciID."""
    policy = {"attachPolicy": {"nics": 2}}
    trace = files_of_add(runtime, pod, tmp_path / "trace", cniVersion="1.1.0", **policy)
    assert looked_at(trace) == {'"/sys'}
    assert re.findall(r'(\w+)\(.*"/sys/([^"]+)"', trace) == [
        ("readlink", "class/net/rail1"),
        ("readlink", "class/net/rail2"),
    ]


def test_other_policies_look_at_devices(
    runtime: Runtime, pod: Namespace, mounts: Mounts, tmp_path: Path
) -> None:
    """The way of looking works: this one reads sysfs."""
    runtime = runtime.but(wrapper=mounts.wrapper)
    trace = files_of_add(runtime, pod, tmp_path / "trace", attachPolicy={"strategy": "topology"})
    assert '"/sys' in looked_at(trace)
