"""A record of two NICs, as ADD writes it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from multinic_cni.attachments.claim import claim, key_of
from multinic_cni.attachments.record import NicRecord, Record
from multinic_cni.netns import NetnsId
from multinic_cni.result import Interface, IpConfig, Result
from multinic_ipam.reservation import Reservation

if TYPE_CHECKING:
    from pathlib import Path

BOOT = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"
NO_INDEX = 999_999  # of no link, so that the NIC is known by its name


def conf(kind: str, **words: object) -> dict[str, object]:
    return {"type": kind, "cniVersion": "1.0.0", "name": "rails", **words}


def record(*, complete: bool = True) -> Record:
    whole = Record(
        network="rails",
        container_id="c0ffee",
        ifname="net1",
        netns="/var/run/netns/cni-1",
        netns_id=NetnsId(device=4, inode=4026532281, cookie=2**63 + 5),
        boot_id=BOOT,
        cni_version="1.0.0",
        pod="default/pod-a",
        pod_uid="",
        path=("/opt/cni/bin", "/usr/lib/cni"),
        cni_args="IgnoreUnknown=true;K8S_POD_NAME=pod-a",
        max_parallel=None,
        nics=(
            NicRecord(
                nic="rail0",
                index=3,
                kind="",
                mac="02:00:00:00:00:03",
                ifname="net1",
                confs=(conf("macvlan", master="rail0"), conf("tuning", mtu=9000)),
                reservations=(
                    Reservation("10.1.0.0/24", "10.1.0.7"),
                    Reservation("fd00::/64", "fd00::7"),
                ),
                result=Result(
                    interfaces=(Interface(name="net1", mtu=9000, sandbox="/var/run/netns/cni-1"),),
                    ips=(IpConfig(address="10.1.0.7/24", interface=0),),
                    routes=({"dst": "10.9.0.0/16", "table": 100},),
                    dns={"nameservers": ["10.1.0.53"]},
                ),
            ),
            NicRecord(
                nic="rail1",
                index=4,
                kind="bond",
                mac="02:00:00:00:00:04",
                ifname="net1-1",
                confs=(conf("macvlan", master="rail1"),),
            ),
        ),
    )
    return whole.but(complete=True) if complete else whole


def attach(
    data_dir: Path,
    pod: str,
    nic: str,
    megabits: int,
    boot_id: str = BOOT,
    *,
    index: int = NO_INDEX,
) -> None:
    """Record a pod that has one NIC, and has taken so much of its bandwidth."""
    own = NicRecord(
        nic=nic, index=index, kind="", mac="", ifname="net1", confs=(), megabits=megabits
    )
    held = claim(str(data_dir), "rails", key_of(pod, "net1"), time.monotonic() + 5)
    held.write(record().but(container_id=pod, boot_id=boot_id, nics=(own,)))
    held.close()


def say_boot(node: Path) -> None:
    """Write down, in a node's folder, which boot it is in."""
    file = node / "proc/sys/kernel/random/boot_id"
    file.parent.mkdir(parents=True)
    file.write_text(f"{BOOT}\n")
