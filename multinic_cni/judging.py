"""What there is against a NIC on this node: its kind, its health, and what others do with it."""

from __future__ import annotations

import os

from multinic_cni.conflicts import conflict_below, conflict_on, use_of, wanted_size
from multinic_cni.delegate_types import TAKE_THE_NIC
from multinic_cni.delegates import link_for_delegate, wants_function
from multinic_cni.errors import BAD_CONF, CniError, io_failure
from multinic_cni.jsontext import decode
from multinic_cni.nic_uses import OtherUses
from multinic_selectors.selection import Judge

SCALABLE = ".sf."  # in the name of an auxiliary device

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from multinic_cni.conf.netconf import NetConf
    from multinic_cni.host import Host
    from multinic_cni.nic_moves import Moves
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
        self._others = OtherUses(conf.data_dir, conf.name, use_of(conf.chain[0]))

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
        return self._lack_of_function(nic) or self._lack_of_required_rdma(nic)

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
        rdma, size = self._conf.attach_policy.rdma, wanted_size(self._conf)
        chain, node = self._conf.chain, _Surroundings(self._host)
        if self._conf.vlan:
            name = link_for_delegate(nic.name, self._conf.vlan)
            vlan = next((each for each in self._host.nics if each.name == name), None)
            seen = conflict_below(nic, vlan, chain, node, rdma=rdma, size=size)
        else:
            seen = conflict_on(nic, chain, node, rdma=rdma, size=size)
        return seen or self._conflict_in_pods(nic)

    def _conflict_in_pods(self, nic: Nic) -> str:
        """Return what records alone tell. An ADD looks again, under the store's lock."""
        if not self._host.is_this_node:
            return ""
        try:
            return self._others.conflict_if_noted(nic, link_for_delegate(nic.name, self._conf.vlan))
        except OSError:
            return ""  # whoever looks again says so

    def _lack_of_function(self, nic: Nic) -> str:
        if not wants_function(self._conf):
            return ""
        function = self._host.sysfs.pci_address(nic.name)
        if function and self._host.sysfs.physical_function(function):
            return ""
        kind = self._conf.chain[0]["type"]
        return f"it is no virtual function, and plugin {kind} takes no other NICs"

    def _word_on(self, nic: Nic) -> str | None:
        return self._health.word_on(nic.name) if self._health else None

    def _lack_of_required_rdma(self, nic: Nic) -> str:
        if not self._conf.attach_policy.rdma_required:
            return ""
        # host-device's NICs come back down, VFs begin so: their ports are up once the pod has them.
        waits = not nic.up and self._conf.chain[0]["type"] in TAKE_THE_NIC
        return self._lack_of_rdma(nic) or ("" if waits else self._sleep_of_rdma(nic))

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
        names = ", ".join(self._classes.names)
        return f"known here: {names}" if names else "none is known here"

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


class PodJudge(NodeJudge):
    """Judges for a pod that is attached now: it cannot have a NIC that is moving just then.

    `found_out` has troubles of NICs that this call has come upon, by their names.
    """

    _known_moves: Moves | None = None

    def __init__(
        self,
        conf: NetConf,
        host: Host,
        wished_class: str = "",
        found_out: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(conf, host, wished_class)
        self._found_out = found_out or {}

    def trouble(self, nic: Nic) -> str:
        return self._found_out.get(nic.name) or super().trouble(nic)

    def conflict(self, nic: Nic) -> str:
        return self._movement(nic) or super().conflict(nic)

    def _movement(self, nic: Nic) -> str:
        if self._conf.chain[0]["type"] not in TAKE_THE_NIC or not self._host.is_this_node:
            return ""
        try:
            return self._moves.conflict(nic)
        except PermissionError:
            return ""  # for a person who explains: an ADD has the right
        except OSError as error:
            raise io_failure("look at which NICs move", error) from error

    @property
    def _moves(self) -> Moves:
        if self._known_moves is None:
            from multinic_cni.nic_moves import Moves  # noqa: PLC0415 - for types that take NICs

            self._known_moves = Moves(self._conf.data_dir, self._host.sysfs)
        return self._known_moves


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

    def scalable_function(self, nic: Nic) -> str:
        device = self._host.sysfs.auxiliary_device(nic.name)
        return device if SCALABLE in device else ""
