"""What an ADD is about to do: its addresses, reserved and probed, and the record that says it."""

from __future__ import annotations

from multinic_cni import host
from multinic_cni.addressing import ipam_block, uses_store
from multinic_cni.attachments.record import NicRecord, Record
from multinic_cni.cancellation import cancelled
from multinic_cni.conflicts import use_of
from multinic_cni.delegate_types import TAKE_THE_NIC
from multinic_cni.delegates import can_be_probed, chain_confs, link_for_delegate
from multinic_cni.errors import NO_ADDRESS, TRY_AGAIN, CniError
from multinic_cni.log import log
from multinic_cni.nic_uses import NicUse, begin_use
from multinic_cni.preparation import wanted_pools
from multinic_cni.reservations import Account, CrowdedError, Want, with_store
from multinic_cni.upkeep.moved_shares import refuse_moved_shares, remember_shares
from multinic_ipam.networks import parse_address
from multinic_ipam.reservation import Owner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from multinic_cni.attachments.claim import Claim
    from multinic_cni.invocation import Invocation
    from multinic_cni.netns import PodNetns
    from multinic_cni.preparation import Plan
    from multinic_cni.probing import Target
    from multinic_cni.reservations import Addresses
    from multinic_ipam.store import Store
    from multinic_selectors.nics import Nic

MOST_REPLACEMENTS = 4


class Intent:
    """One ADD on its way to the record that its delegates are executed from."""

    def __init__(self, held: Claim, plan: Plan, pod: PodNetns) -> None:
        self._held = held
        self._plan = plan
        self._pod = pod
        self._owner = Owner(plan.call.container_id, plan.call.ifname)
        self._account = Account(plan.conf.data_dir, plan.deadline, self._owner)
        self._use = use_of(plan.conf.chain[0])
        self._formers: list[dict[str, Any]] = [{} for _ in plan.choices]
        self._sticky_name = self._name_for_sticky() if plan.conf.ipam.get("sticky") else ""

    def _name_for_sticky(self) -> str:
        from multinic_cni.upkeep.sticky import name_of  # noqa: PLC0415 - only where it is asked for

        return name_of(_pod_of(self._plan.call), self._plan.call.ifname)

    def settle(self) -> Record:
        """Reserve the addresses, write the record, and ask the networks; return the record.

        Raises CniError; what is reserved then stands in the record, if one is written.
        """
        if self._use in TAKE_THE_NIC:
            self._formers = self._note_nics()
        if uses_store(self._plan.conf):
            wants = self._wants()
            addresses = self._swept_if_crowded(lambda: self._reserve(wants))
            self._probe(wants, addresses)
        elif self._use or self._plan.conf.vlan:
            with_store(self._plan.conf.data_dir, self._plan.deadline, self._write_without_addresses)
        else:
            self._write(self._no_addresses)
        return self._record

    def _note_nics(self) -> list[dict[str, Any]]:
        """Return what the NICs that go into the pod are now; CniError 102 if one cannot go."""
        from multinic_cni.handover.documents import to_document  # noqa: PLC0415 - if NICs are moved
        from multinic_cni.handover.noting import note, note_in_whole, refuse_clashes  # noqa: PLC0415

        conf = self._plan.conf
        nics = [choice.nic for choice in self._plan.choices]
        refuse_clashes(self._use, nics, self._plan.names, self._pod.netlink.links())
        in_whole = conf.restore or conf.ipam.get("type") == "host-device-ipam"
        formers = note_in_whole(nics) if in_whole else note(nics)
        return [to_document(former.but(restore=conf.restore)) for former in formers]

    @property
    def _no_addresses(self) -> Addresses:
        return [[] for _ in self._plan.choices]

    def _write_without_addresses(self, store: Store) -> None:
        self._begin_use(store)
        self._write(self._no_addresses)
        self._join_vlans(store)

    def _begin_use(self, store: Store) -> None:
        """Refuse what would break others' links on the NICs; the store's lock is held."""
        plan = self._plan
        if self._use or plan.conf.vlan:
            wanted = NicUse(
                network=plan.conf.name,
                owner=self._owner,
                use=self._use,
                nics=[choice.nic for choice in plan.choices],
                present=[nic.name for nic in plan.host.nics],
                links=[self._link_of(choice.nic) for choice in plan.choices if plan.conf.vlan],
            )
            begin_use(store.root, plan.conf.data_dir, wanted)

    def _join_vlans(self, store: Store) -> None:
        """Make the VLANs that are wanted; the store's lock is held, and the record is written."""
        conf = self._plan.conf
        if conf.vlan:
            from multinic_cni.vlans import join  # noqa: PLC0415 - where it is asked for

            nics = [choice.nic for choice in self._plan.choices]
            join(store.root, conf.name, self._owner, nics, conf.vlan)

    def _link_of(self, nic: Nic) -> str:
        return link_for_delegate(nic.name, self._plan.conf.vlan)

    def _wants(self) -> list[Want]:
        plan, ipam = self._plan, self._plan.conf.ipam
        nics = wanted_pools(plan.conf, plan.choices, plan.host)
        asked: list[dict[int, int]] = [{} for _ in nics]
        if plan.requests.addresses:
            from multinic_cni.assignment import assign  # noqa: PLC0415 - only where it is asked for

            asked = assign(plan.requests, nics)
        return [
            Want(nic=nic, alternatives=pools, asked=own, cooldown=ipam.get("cooldown") or 0)
            for (nic, pools), own in zip(nics, asked, strict=True)
        ]

    def _reserve(self, wants: Sequence[Want]) -> Addresses:
        conf, name = self._plan.conf, self._sticky_name

        def admit(store: Store) -> list[Want]:
            self._begin_use(store)
            shares = refuse_moved_shares(store.root, conf.data_dir, conf.name, wants)
            remember_shares(store.root, conf.name, shares)
            if not name:
                return list(wants)
            from multinic_cni.upkeep.sticky import recall  # noqa: PLC0415 - see above

            preferred = recall(store.root, conf.name, name)
            return [want.but(preferred=preferred.get(want.nic, ())) for want in wants]

        return self._account.reserve(admit, self._commit)

    def _commit(self, store: Store, addresses: Addresses) -> None:
        """Write down what is about to be reserved; the store's lock is held."""
        self._write(addresses)
        self._join_vlans(store)
        if self._sticky_name:
            from multinic_cni.upkeep.sticky import remember  # noqa: PLC0415 - see above

            names = (choice.nic.name for choice in self._plan.choices)
            had = {
                nic: [reservation.address for reservation, _ in own]
                for nic, own in zip(names, addresses, strict=True)
            }
            remember(store.root, self._plan.conf.name, self._sticky_name, had)

    def _probe(self, wants: Sequence[Want], addresses: Addresses) -> None:
        """Ask whether somebody else has the addresses; take others instead of those he has."""
        conf = self._plan.conf
        policy = conf.ipam.get("probe") or "off"
        if policy == "off" or not can_be_probed(conf.chain[0]):
            return
        from multinic_cni.probing import probe  # noqa: PLC0415 - only where it is asked for

        proxies = conf.ipam.get("proxyMACs") or ()
        probed: set[str] = set()
        for replacements in range(MOST_REPLACEMENTS + 1):
            targets = self._targets(addresses, probed)
            conflicts = probe(targets, proxies)
            if cancelled():
                raise CniError(TRY_AGAIN, "the runtime called the plugin off")
            hits = {
                each.target.address: f"NIC {each.target.nic}: {each.mac} has {each.target.address}"
                for each in conflicts
            }
            for hit in hits.values():
                log.warning(f"address conflict: {hit}")
            if not hits or policy == "warn":
                return
            asked = {(version, n) for want in wants for version, n in want.asked.items()}
            wished = any((each.target.version, each.target.number) in asked for each in conflicts)
            if policy == "fail" or wished or replacements == MOST_REPLACEMENTS:
                self._account.quarantine(addresses, hits)
                raise _conflict(list(hits.values()), replacements)
            probed.update(target.address for target in targets)
            addresses = self._replaced(wants, addresses, hits)

    def _replaced(
        self, wants: Sequence[Want], addresses: Addresses, hits: Mapping[str, str]
    ) -> Addresses:
        def replace() -> Addresses:
            return self._account.replace(wants, addresses, hits, self._commit)

        return self._swept_if_crowded(replace)

    def _swept_if_crowded(self, work: Callable[[], Addresses]) -> Addresses:
        try:
            return work()
        except CrowdedError:
            from multinic_cni.upkeep.sweeping import sweep_and_repeat  # noqa: PLC0415 - only then

            return sweep_and_repeat(self._plan.conf.data_dir, self._plan.deadline, work)

    def _targets(self, addresses: Addresses, probed: set[str]) -> list[Target]:
        from multinic_cni.probing import Target  # noqa: PLC0415 - see above

        return [
            Target(nic=self._link_of(choice.nic), version=version, number=number)
            for choice, own in zip(self._plan.choices, addresses, strict=True)
            for reservation, _ in own
            if reservation.address not in probed
            for version, number in (parse_address(reservation.address),)
        ]

    def _write(self, addresses: Addresses) -> None:
        self._record = self._recorded(addresses)
        self._held.write(self._record)
        self._plan.end_turn()

    def _recorded(self, addresses: Addresses) -> Record:
        plan, call, conf = self._plan, self._plan.call, self._plan.conf
        return Record(
            network=conf.name,
            container_id=call.container_id,
            ifname=call.ifname,
            netns=call.netns,
            netns_id=self._pod.id,
            boot_id=host.boot_id(),
            cni_version=conf.cni_version,
            pod=_pod_of(call),
            pod_uid=call.arg("K8S_POD_UID"),
            path=call.path,
            cni_args=plan.delegation.cni_args,
            max_parallel=conf.max_parallel,
            nics=tuple(
                NicRecord(
                    nic=choice.nic.name,
                    index=choice.nic.index,
                    kind=choice.nic.kind,
                    mac=choice.nic.mac,
                    megabits=choice.megabits,
                    pci=self._device_taken(choice.nic, function),
                    former=former,
                    master=self._link_of(choice.nic) if conf.vlan else "",
                    ifname=ifname,
                    confs=chain_confs(
                        conf,
                        self._link_of(choice.nic),
                        ipam_block(conf, choice.nic, own),
                        wanted,
                        function,
                    ),
                    reservations=tuple(reservation for reservation, _ in own),
                )
                for choice, function, former, ifname, own, wanted in zip(
                    plan.choices,
                    plan.functions,
                    self._formers,
                    plan.names,
                    addresses,
                    plan.wanted,
                    strict=True,
                )
            ),
        )

    def _device_taken(self, nic: Nic, function: str) -> str:
        """Return the PCI function of a NIC that goes into the pod; empty for one that stays."""
        if self._use not in TAKE_THE_NIC:
            return ""
        return function or self._plan.host.sysfs.pci_address(nic.name)


def _pod_of(call: Invocation) -> str:
    """Return "namespace/name" as the runtime says it, or as much as it says."""
    namespace, name = call.arg("K8S_POD_NAMESPACE"), call.arg("K8S_POD_NAME")
    return f"{namespace}/{name}" if namespace else name


def _conflict(conflicts: Sequence[str], replacements: int) -> CniError:
    tried = f" ({replacements} others were taken, too)" if replacements else ""
    message = f"somebody else on the network has the address: {'; '.join(conflicts)}{tried}"
    details = "find the host with that MAC; exclude its address in the net conf (excludeCIDRs)"
    return CniError(NO_ADDRESS, message, details)
