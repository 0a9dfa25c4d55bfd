"""What an ADD does in the pod's netns beside its delegates: one visit for all NICs.

The steps are written into the record before the first of them is done, so that DEL can take back
what a killed ADD has set.
"""

from __future__ import annotations

from multinic_cni.errors import ROUTING_FAILED, CniError, io_failure
from multinic_cni.messages import RT_TABLE_MAIN
from multinic_cni.route_messages import WHOLE
from multinic_cni.routing.applying import Setter, read_setting
from multinic_cni.routing.planning import Planner, joined, refuse_what_is_there
from multinic_cni.routing.pod import look, routed_nics
from multinic_cni.routing.steps import RouteStep, RuleStep, SysctlStep, read_steps, to_documents
from multinic_ipam.networks import Network, format_address, is_link_local, split_cidr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from multinic_cni.announcing import Announcement
    from multinic_cni.attachments.claim import Claim
    from multinic_cni.attachments.record import NicRecord, Record
    from multinic_cni.conf.routing import Routing
    from multinic_cni.netns import PodNetns
    from multinic_cni.preparation import Plan
    from multinic_cni.routing.steps import Step

# New interfaces of a netns begin with these. The delegates make them, and some wait for the end of
# duplicate address detection: so it has to be off before.
WITHOUT_DAD = {
    "net/ipv6/conf/default/accept_dad": "0",
    "net/ipv6/conf/default/dad_transmits": "0",
}
WITHOUT_LINK_LOCAL = {"net/ipv6/conf/default/addr_gen_mode": "1"}  # IN6_ADDR_GEN_MODE_NONE
EMPTY = "\n"  # a list such as ip_local_reserved_ports; an empty `former` is none


class Visit:
    """One ADD's work in the pod; every method raises CniError 106, or 7 where the conf is wrong."""

    def __init__(self, held: Claim, plan: Plan, pod: PodNetns) -> None:
        self._held = held
        self._plan = plan
        self._pod = pod

    def begin(self, record: Record) -> Record:
        """Set what new interfaces of the pod are to begin with; return the record that says it."""
        routing = self._plan.conf.routing
        settings = {} if routing is None or routing.dad else dict(WITHOUT_DAD)
        if routing is not None and not routing.link_local:
            settings |= WITHOUT_LINK_LOCAL
        if not settings:
            return record
        try:
            with self._pod.visit():
                steps = _settings(settings)
                record = self._written(record, steps)
                setter = Setter(self._pod.netlink)
                try:
                    setter.set(steps)
                except CniError:
                    setter.take_back(steps)  # nobody else's roll-back knows of them yet
                    raise
        except OSError as error:
            raise _not_entered(error) from error
        return record

    def plan(self, record: Record) -> Record:
        """Write down what is to be set now that the interfaces are there; return the record."""
        try:
            with self._pod.visit():
                # What new interfaces begin with was for ours alone.
                Setter(self._pod.netlink).take_back(read_steps(record.routing))
                steps = [_with_former(step) for step in self._steps(record)]
        except OSError as error:
            raise _not_entered(error) from error
        return self._written(record, steps)

    def carry_out(self, record: Record) -> Record:
        """Set what the record says, and announce the addresses.

        Returns the record with settings as the kernel words them, for CHECK.
        """
        routing = self._plan.conf.routing
        announced = []
        try:
            if routing is not None and routing.announce:
                announced = list(self._announcements(record.nics))
            with self._pod.visit():
                steps = read_steps(record.routing)
                Setter(self._pod.netlink).set(steps)
                steps = list(map(_as_the_kernel_has_it, steps))
                if announced:
                    from multinic_cni.announcing import announce  # noqa: PLC0415 - if asked for

                    announce(announced)
        except OSError as error:
            raise _not_entered(error) from error
        return record.but(routing=to_documents(steps))

    def routes(self, record: Record) -> tuple[dict[str, object], ...]:
        """Return what was set in the main table by the pod's new interfaces, as a result has it."""
        own = {nic.ifname for nic in record.nics}
        return tuple(
            {
                "dst": str(step.network),
                **(
                    {"gw": format_address(step.network.version, hop.gateway)} if hop.gateway else {}
                ),
            }
            for step in read_steps(record.routing)
            if isinstance(step, RouteStep) and step.table == RT_TABLE_MAIN and not step.goes
            for hop in step.hops
            if hop.ifname in own
        )

    def _written(self, record: Record, steps: Sequence[Step]) -> Record:
        record = record.but(routing=to_documents(steps))
        try:
            self._held.write(record)
        except OSError as error:
            raise io_failure("write the record", error) from error
        return record

    def _steps(self, record: Record) -> list[Step]:
        conf = self._plan.conf
        carried = _carried(record) if conf.ipam.get("type") == "host-device-ipam" else []
        if conf.routing is None and not carried:
            return []
        now = look(self._pod.netlink)
        refuse_what_is_there(carried, now)
        if conf.routing is None:
            return carried
        entries = conf.masters_in_order
        rails = () if conf.rails is None else entries
        nics = routed_nics(record.nics, self._plan.choices, entries, rails)
        kept = self._kept(conf.routing)
        taken = {step.table for step in carried if isinstance(step, RouteStep | RuleStep)}
        return [*carried, *Planner(conf.routing, nics, now, kept, taken).steps()]

    def _kept(self, routing: Routing) -> list[Network] | None:
        """Return what stays on the primary interface: clusters' networks, the node's addresses."""
        if not routing.default_route:
            return []
        host = self._plan.host
        kept = routing.keep_on_primary
        if kept is None and host.file.keep_on_primary is not None:
            kept = tuple(map(Network.parse, host.file.keep_on_primary))
        if kept is None:
            return None
        # A link that is down has none that anybody could use: kube-ipvs0 holds every service's.
        own = [
            Network.around(version, number, WHOLE[version])
            for nic in host.nics
            for version, number, _ in nic.addresses
            if nic.up and not nic.loopback and not is_link_local(version, number)
        ]
        return [*kept, *own]

    def _announcements(self, nics: Sequence[NicRecord]) -> Iterator[Announcement]:
        from multinic_cni.announcing import Announcement  # noqa: PLC0415 - if asked for

        links = {link.name: link for link in self._pod.netlink.links()}
        for nic in nics:
            link = links.get(nic.ifname)
            for ip in nic.result.ips if nic.result and link else ():
                version, number, _ = split_cidr(ip.address)
                if link is not None:
                    yield Announcement(
                        nic=nic.nic,
                        ifname=nic.ifname,
                        index=link.index,
                        mac=link.mac,
                        version=version,
                        number=number,
                    )


def _carried(record: Record) -> list[Step]:
    """Return what goes into the pod with NICs that keep their addresses there."""
    from multinic_cni.routing.carried import carried_steps  # noqa: PLC0415 - for such confs

    steps = [step for nic in record.nics for step in carried_steps(nic)]
    routes = joined(step for step in steps if isinstance(step, RouteStep))
    return [*routes, *(step for step in steps if not isinstance(step, RouteStep))]


def _settings(settings: dict[str, str]) -> list[Step]:
    try:
        return [
            SysctlStep(nic="", path=path, value=value, former=read_setting(path))
            for path, value in settings.items()
        ]
    except FileNotFoundError:
        return []  # the kernel was booted without IPv6


def _with_former(step: Step) -> Step:
    """Keep what a setting of the whole netns was: those of an interface go with it."""
    if not isinstance(step, SysctlStep) or step.nic:
        return step
    try:
        return step.but(former=read_setting(step.path) or EMPTY)
    except FileNotFoundError:
        message = f"routing.sysctls: this kernel has no {step.path} in a pod's netns"
        raise CniError(ROUTING_FAILED, message) from None
    except OSError as error:
        # It could not be put back as it was.
        message = f"routing.sysctls: {step.path} cannot be read: {error.strerror}"
        raise CniError(ROUTING_FAILED, message) from error


def _as_the_kernel_has_it(step: Step) -> Step:
    """Word a setting as it reads: 01 is 1, and the ports 1,2,3 are 1-3."""
    if not isinstance(step, SysctlStep):
        return step
    try:
        return step.but(value=read_setting(step.path))
    except OSError:
        return step  # CHECK will say so


def _not_entered(error: OSError) -> CniError:
    message = f"the pod's routes cannot be set: {error.strerror}"
    return CniError(ROUTING_FAILED, message)
