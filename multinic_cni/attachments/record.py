"""The record of an attachment: everything that DEL, CHECK and GC need; they ask nothing else."""

from __future__ import annotations

from multinic_cni import jsontext
from multinic_cni.conf.checker import check
from multinic_cni.errors import TRY_AGAIN, CniError
from multinic_cni.jsontext import decode, encode
from multinic_cni.netns import NetnsId
from multinic_cni.result import Result, read_result
from multinic_cni.values import Value
from multinic_cni.versions import NEWEST, SUPPORTED
from multinic_ipam.reservation import Reservation
from multinic_selectors.nics import MOST_MEGABITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from multinic_cni.conf.checker import Schema

FORMAT = 1
# Confs and results stand some levels deep in it: more than a net conf may have itself.
DEEPEST = 2 * jsontext.DEEPEST

TEXT: Schema = ("string",)
TEXTS: Schema = ("list", TEXT, 0, None)
DOCUMENT: Schema = ("map", ("any",))
CONF: Schema = (
    "object",
    {"type": (True, ("format", "delegate-type")), "cniVersion": (True, ("enum", SUPPORTED))},
    False,
)
ADDRESS: Schema = (
    "object",
    {"block": (True, ("format", "cidr")), "address": (True, ("format", "ip-address"))},
    True,
)
NIC: Schema = (
    "object",
    {
        "nic": (True, TEXT),
        "index": (True, ("integer", 0, None)),
        "kind": (True, TEXT),
        "mac": (True, TEXT),
        "megabits": (False, ("integer", 0, MOST_MEGABITS)),
        "pci": (False, TEXT),
        "master": (False, TEXT),
        "former": (False, DOCUMENT),
        "ifname": (True, TEXT),
        "confs": (True, ("list", CONF, 0, None)),
        "addresses": (True, ("list", ADDRESS, 0, None)),
        "result": (True, ("nullable", DOCUMENT)),
    },
    True,
)
# As for a net conf, the checker reads it: a planted or torn file must not surprise DEL.
SCHEMA: Schema = (
    "object",
    {
        "format": (True, ("integer", FORMAT, FORMAT)),
        "network": (True, ("format", "network-name")),
        "containerID": (True, TEXT),
        "ifname": (True, TEXT),
        "netns": (True, TEXT),
        "netnsID": (True, ("list", ("integer", 0, None), 3, 3)),
        "bootID": (True, TEXT),
        "cniVersion": (True, ("enum", SUPPORTED)),
        "pod": (True, TEXT),
        "podUID": (True, TEXT),
        "path": (True, TEXTS),
        "cniArgs": (True, TEXT),
        "maxParallel": (True, ("nullable", ("integer", 1, None))),
        "complete": (True, ("boolean",)),
        "nics": (True, ("list", NIC, 0, None)),
        "routing": (False, ("list", DOCUMENT, 0, None)),
    },
    True,
)


class DamagedRecordError(Exception):
    """A record that cannot be read; the message says which and why."""


class NicRecord(Value):
    """One NIC's part: what it is on the node, the inner name, and the chain's confs as executed.

    `megabits` are what the pod's target took of its bandwidth. `pci` is the function of a NIC that
    goes into the pod, where nobody sees it any more, `former` what it had on the node, as
    handover/former.py writes it. `master` is the link that the delegate got instead of the NIC, a
    VLAN on it; empty for the NIC itself. `result` is the chain's own result, None until its ADD
    has ended well.
    """

    nic: str
    index: int
    kind: str
    mac: str
    ifname: str
    confs: tuple[dict[str, Any], ...]
    megabits: int = 0
    pci: str = ""
    master: str = ""
    former: dict[str, Any] = {}  # noqa: RUF012 - never changed: values are frozen
    reservations: tuple[Reservation, ...] = ()
    result: Result | None = None


class Record(Value):
    """What is about to be done, then what was done (`complete`).

    `pod` is for people: "namespace/name" and UID as the runtime gave them. `path` are the folders
    in which the delegates were found. `routing` are the steps by which routes, rules and settings
    came into the pod, as routing/steps.py writes them.
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
    routing: tuple[dict[str, Any], ...] = ()

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
                    "index": nic.index,
                    "kind": nic.kind,
                    "mac": nic.mac,
                    **({"megabits": nic.megabits} if nic.megabits else {}),
                    **({"pci": nic.pci} if nic.pci else {}),
                    **({"master": nic.master} if nic.master else {}),
                    **({"former": nic.former} if nic.former else {}),
                    "ifname": nic.ifname,
                    "confs": list(nic.confs),
                    "addresses": [
                        {"block": each.block, "address": each.address} for each in nic.reservations
                    ],
                    "result": nic.result and nic.result.to_document(NEWEST),
                }
                for nic in self.nics
            ],
            **({"routing": list(self.routing)} if self.routing else {}),
        }
        return encode(document).encode()


def read_record(content: bytes, path: str) -> Record:
    """Read a record; DamagedRecordError for one that is no record of ours.

    CniError 11 for one of a later format: the release that wrote it can undo it, this one must not
    take it for damaged.
    """
    try:
        document = decode(content, path, DEEPEST)
    except CniError as error:
        raise DamagedRecordError(error.message) from None
    number = document.get("format") if isinstance(document, dict) else None
    if type(number) is int and number > FORMAT:
        message = f"{path} was written by a later release of multinic-cni"
        raise CniError(TRY_AGAIN, message, f"install that release again (ours is format {FORMAT})")
    problems = check(document, SCHEMA)
    if problems or not isinstance(document, dict):
        raise DamagedRecordError(f"{path} is damaged: {problems[0]}")
    try:
        return _typed(document)
    except CniError as error:
        raise DamagedRecordError(f"{path} is damaged: {error.message}") from None


def _typed(document: dict[str, Any]) -> Record:
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
        routing=tuple(document.get("routing", ())),
        nics=tuple(
            NicRecord(
                nic=each["nic"],
                index=each["index"],
                kind=each["kind"],
                mac=each["mac"],
                megabits=each.get("megabits", 0),
                pci=each.get("pci", ""),
                master=each.get("master", ""),
                former=each.get("former", {}),
                ifname=each["ifname"],
                confs=tuple(each["confs"]),
                reservations=tuple(
                    Reservation(pair["block"], pair["address"]) for pair in each["addresses"]
                ),
                result=None if each["result"] is None else read_result(each["result"], "result"),
            )
            for each in document["nics"]
        ),
    )
