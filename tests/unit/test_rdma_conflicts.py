"""Whether a pod can have the RDMA device of a NIC, by the node's RDMA netns mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.conflicting import (
    AWS_IPVLAN,
    HOST_DEVICE,
    IPVLAN,
    MACVLAN,
    OTHERS,
    RDMA,
    TUNING,
    VLAN,
    conflict,
    nic,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.unit.conflicting import Conf

EXCLUSIVE = "`rdma system set netns exclusive`"
SHARED = "`rdma system set netns shared`"


@pytest.mark.parametrize(
    ("chain", "who"),
    [
        ([HOST_DEVICE, RDMA], "the delegate rdma"),
        ([{"type": "sriov"}, TUNING, RDMA], "the delegate rdma"),
        ([{"type": "ib-sriov", "rdmaIsolation": True}], "rdmaIsolation"),
    ],
)
@pytest.mark.parametrize("rdma", [True, False])
def test_pod_cannot_have_an_rdma_device_alone(
    chain: Sequence[Conf],
    who: str,
    rdma: bool,
) -> None:
    expected = (
        f"{who} gives the pod an RDMA device of its own, but all netns of this node share the"
        f" devices: {EXCLUSIVE}"
    )
    assert expected == conflict(nic(), *chain, rdma=rdma, exclusive=False)
    assert "" == conflict(nic(), *chain, rdma=rdma, exclusive=True)
    assert "" == conflict(nic(), *chain, rdma=rdma, exclusive=None)


STAYS = (
    "attachPolicy.rdma is set, but its RDMA mlx5_0 would stay in the node's netns, since each netns"
    " has devices of its own here"
)


@pytest.mark.parametrize(
    "template",
    [HOST_DEVICE, {"type": "sriov"}, {"type": "ib-sriov", "rdmaIsolation": False}],
)
def test_rdma_device_stays_behind(template: Conf) -> None:
    expected = f"{STAYS}: chain the rdma plugin, or {SHARED}"
    assert expected == conflict(nic(), template, rdma=True, exclusive=True)
    assert "" == conflict(nic(), template, rdma=True, exclusive=False)
    assert "" == conflict(nic(), template, rdma=True, exclusive=None)
    assert "" == conflict(nic(), template, rdma=False, exclusive=True)


@pytest.mark.parametrize("words", [{}, {"rdmaIsolation": True}])
@pytest.mark.parametrize("template", [MACVLAN, IPVLAN, AWS_IPVLAN, VLAN])
def test_links_share_the_rdma_device(template: Conf, words: Conf) -> None:
    """Only those that move the NIC know the word rdmaIsolation."""
    family = template["type"].removeprefix("aws-")
    template = {**template, **words}
    expected = f"{STAYS}, and {family} moves none: {SHARED}"
    assert expected == conflict(nic(), template, rdma=True, exclusive=True)
    assert "" == conflict(nic(), template, rdma=True, exclusive=False)
    assert "" == conflict(nic(), template, rdma=False, exclusive=True)


@pytest.mark.parametrize("template", OTHERS)
def test_rdma_of_types_that_nobody_knows(template: Conf) -> None:
    assert "" == conflict(nic(), template, rdma=True, exclusive=True)
