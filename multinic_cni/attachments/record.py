"""The record of an attachment: everything that DEL, CHECK and GC need; they ask nothing else."""

from __future__ import annotations

from multinic_cni.errors import DECODE_FAILURE, CniError
from multinic_cni.jsontext import decode, encode
from multinic_cni.netns import NetnsId
from multinic_cni.values import Value
from multinic_ipam.store import Reservation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FORMAT = 1


class NicRecord(Value):
    """One NIC's part: its name on the node, the inner name, and the chain's confs as executed.

    `result` is the chain's own result, None until its ADD has ended well.
    """

    nic: str
    ifname: str
    confs: tuple[dict[str, Any], ...]
    reservations: tuple[Reservation, ...] = ()
    result: dict[str, Any] | None = None


class Record(Value):
    """What is about to be done, then what was done (`complete`).

    `pod` is for people: "namespace/name" and UID as the runtime gave them. `path` are the folders
    in which the delegates were found.
    """

    network: str
    container_id: str
    ifname: str
    netns: str
    netns_id: NetnsId
    boot_id: str
    cni_version: str
    pod: str
    pod_uid: str
    path: tuple[str, ...]
    cni_args: str
    max_parallel: int | None
    nics: tuple[NicRecord, ...]
    complete: bool = False

    @property
    def reservations(self) -> list[Reservation]:
        return [reservation for nic in self.nics for reservation in nic.reservations]

    def to_bytes(self) -> bytes:
        document = {
            "format": FORMAT,
            "network": self.network,
            "containerID": self.container_id,
            "ifname": self.ifname,
            "netns": self.netns,
            "netnsID": [self.netns_id.device, self.netns_id.inode, self.netns_id.cookie],
            "bootID": self.boot_id,
            "cniVersion": self.cni_version,
            "pod": self.pod,
            "podUID": self.pod_uid,
            "path": list(self.path),
            "cniArgs": self.cni_args,
            "maxParallel": self.max_parallel,
            "complete": self.complete,
            "nics": [
                {
                    "nic": nic.nic,
                    "ifname": nic.ifname,
                    "confs": list(nic.confs),
                    "addresses": [[each.block, each.address] for each in nic.reservations],
                    "result": nic.result,
                }
                for nic in self.nics
            ],
        }
        return encode(document).encode()


def read_record(content: bytes, path: str) -> Record:
    """Read a record; CniError 6 for one that is damaged or of a later format."""
    document = decode(content, path)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise CniError(DECODE_FAILURE, f"{path} is not a record of format {FORMAT}")
    try:
        device, inode, cookie = document["netnsID"]
        return Record(
            network=document["network"],
            container_id=document["containerID"],
            ifname=document["ifname"],
            netns=document["netns"],
            netns_id=NetnsId(device=device, inode=inode, cookie=cookie),
            boot_id=document["bootID"],
            cni_version=document["cniVersion"],
            pod=document["pod"],
            pod_uid=document["podUID"],
            path=tuple(document["path"]),
            cni_args=document["cniArgs"],
            max_parallel=document["maxParallel"],
            complete=document["complete"],
            nics=tuple(
                NicRecord(
                    nic=each["nic"],
                    ifname=each["ifname"],
                    confs=tuple(each["confs"]),
                    reservations=tuple(Reservation(*pair) for pair in each["addresses"]),
                    result=each["result"],
                )
                for each in document["nics"]
            ),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CniError(DECODE_FAILURE, f"{path} is damaged: {error!r}") from None
