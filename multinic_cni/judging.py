"""What there is against a NIC on this node: its kind, its health, and what others do with it."""

from __future__ import annotations

import os

from multinic_cni.conflicts import conflict_on
from multinic_cni.errors import BAD_CONF, CniError
from multinic_cni.jsontext import decode
from multinic_selectors.selection import Judge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from multinic_cni.conf.netconf import NetConf
    from multinic_cni.host import Host
    from multinic_selectors.classes import Classes
    from multinic_selectors.health import Health
    from multinic_selectors.nics import Nic


class NodeJudge(Judge):
    """Judges by the net conf and the node's facts, each read when it is first needed.

    `wished_class` is the pod's, beside the admin's: a NIC has to be of both.
    """

    def __init__(self, conf: NetConf, host: Host, wished_class: str = "") -> None:
        self._conf = conf
        self._host = host
        names = (conf.attach_policy.class_name, wished_class)
        self._class_names: Sequence[str] = [name for name in names if name]
        self._known_classes: Classes | None = None
        self._known_health: Health | None = None
        self._looked_for_health = False

    def refuse_unknown_classes(self, *, pod: bool) -> None:
        """Raise CniError 7 for a class that nobody has defined: it never means "any NIC".

        The strategy devClass needs one, by the conf or by the `pod`.
        """
        for name in self._class_names:
            if name not in self._classes.names:
                raise CniError(BAD_CONF, f"unknown class {name!r}; {self._known}")
        if self._conf.attach_policy.strategy == "devClass" and pod and not self._class_names:
            message = f"devClass needs a class, by attachPolicy or by the pod; {self._known}"
            raise CniError(BAD_CONF, message)

    def misfit(self, nic: Nic) -> str:
        for name in self._class_names:
            reason = self._classes.misfit(nic, name)
            if reason:
                return reason
        return ""

    def trouble(self, nic: Nic) -> str:
        """Return what probers say; else what the kernel does, of RDMA too where it is wanted."""
        word = self._word_on(nic)
        if word is not None:
            return word
        return nic.trouble or self._lack_of_rdma(nic) or self._sleep_of_rdma(nic)

    def lasting_trouble(self, nic: Nic) -> str:
        word = self._word_on(nic)
        return self._lack_of_rdma(nic) if word is None else word

    def conflict(self, nic: Nic) -> str:
        policy = self._conf.attach_policy
        return conflict_on(nic, self._conf.chain, _Surroundings(self._host), rdma=policy.rdma)

    def _word_on(self, nic: Nic) -> str | None:
        return self._health.word_on(nic.name) if self._health else None

    def _lack_of_rdma(self, nic: Nic) -> str:
        if not self._conf.attach_policy.rdma or self._host.sysfs.rdma_ports(nic.name):
            return ""
        return "it has no RDMA device (attachPolicy.rdma)"

    def _sleep_of_rdma(self, nic: Nic) -> str:
        ports = self._host.sysfs.rdma_ports(nic.name) if self._conf.attach_policy.rdma else []
        if not ports or any(port.state == "ACTIVE" for port in ports):
            return ""
        states = ", ".join(f"{port.device}/{port.number} is {port.state}" for port in ports)
        return f"no RDMA port of it is ACTIVE: {states}"

    @property
    def _known(self) -> str:
        return f"known here: {', '.join(self._classes.names) or 'none'}"

    @property
    def _classes(self) -> Classes:
        if self._known_classes is None:
            from multinic_cni.conf.class_files import known_classes  # noqa: PLC0415 - if wanted
            from multinic_selectors.classes import Classes  # noqa: PLC0415 - the same

            own, folder = self._conf.attach_policy.classes, self._host.paths.classes
            kinds = known_classes(own, folder, self._class_names)
            self._known_classes = Classes(kinds, self._host.sysfs, self._host.speed)
        return self._known_classes

    @property
    def _health(self) -> Health | None:
        """What probers say; None where none has ever said anything."""
        if not self._looked_for_health:
            self._looked_for_health = True
            folder = self._host.paths.health
            if os.path.isdir(folder):
                from multinic_selectors.health import Health  # noqa: PLC0415 - where there is one

                self._known_health = Health(folder, _decoded)
        return self._known_health


def _decoded(content: bytes) -> object:
    try:
        return decode(content, "a prober's word")
    except CniError:
        return None


class _Surroundings:
    """What a conflict depends on besides the NIC."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def kind_of(self, link: str) -> str:
        return next((nic.kind for nic in self._host.nics if nic.name == link), "")

    def rdma_is_exclusive(self) -> bool | None:
        return self._host.sysfs.rdma_netns_exclusive()

    def rdma_devices(self, nic: Nic) -> Sequence[str]:
        return [port.device for port in self._host.sysfs.rdma_ports(nic.name)]
