"""CNI results: read in any version, written in the one asked for (specification, section 5)."""

from __future__ import annotations

from multinic_cni.errors import DECODE_FAILURE, CniError
from multinic_cni.values import Value
from multinic_cni.versions import at_least
from multinic_ipam.networks import NetworkError, parse_address, split_cidr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Interface(Value):
    """A link that a plugin made. `sandbox` is the pod's netns, empty for one on the node."""

    name: str
    mac: str = ""
    mtu: int = 0
    sandbox: str = ""
    socket_path: str = ""
    pci_id: str = ""


class IpConfig(Value):
    """An address with its prefix length; `interface` is an index into the result's interfaces."""

    address: str
    gateway: str = ""
    interface: int | None = None

    @property
    def version(self) -> str:
        return "6" if ":" in self.address else "4"


class Result(Value):
    """What an ADD made. `routes` and `dns` stay as documents, so that no key of theirs is lost."""

    interfaces: tuple[Interface, ...] = ()
    ips: tuple[IpConfig, ...] = ()
    routes: tuple[dict[str, object], ...] = ()
    dns: dict[str, object] = {}  # noqa: RUF012 - never changed: values are frozen

    def to_document(self, version: str) -> dict[str, object]:
        """Write the result for one version of the specification, with that version's keys only."""
        newest = at_least(version, "1.1.0")
        document: dict[str, object] = {
            "cniVersion": version,
            "interfaces": [_interface_document(each, newest=newest) for each in self.interfaces],
            "ips": [
                _ip_document(each, with_version=not at_least(version, "1.0.0")) for each in self.ips
            ],
        }
        if self.routes:
            keys = ROUTE_KEYS if newest else ROUTE_KEYS[:2]
            document["routes"] = [
                {key: route[key] for key in keys if key in route} for route in self.routes
            ]
        if self.dns:
            document["dns"] = self.dns
        return document


ROUTE_KEYS = ("dst", "gw", "mtu", "advmss", "priority", "table", "scope")


def _interface_document(interface: Interface, *, newest: bool) -> dict[str, object]:
    document: dict[str, object] = {"name": interface.name}
    fields: tuple[tuple[str, object], ...] = (
        ("mac", interface.mac),
        ("sandbox", interface.sandbox),
    )
    if newest:
        fields += (
            ("mtu", interface.mtu),
            ("socketPath", interface.socket_path),
            ("pciID", interface.pci_id),
        )
    document.update({key: value for key, value in fields if value})
    return document


def _ip_document(ip: IpConfig, *, with_version: bool) -> dict[str, object]:
    document: dict[str, object] = {"version": ip.version} if with_version else {}
    document["address"] = ip.address
    if ip.gateway:
        document["gateway"] = ip.gateway
    if ip.interface is not None:
        document["interface"] = ip.interface
    return document


def read_result(document: object, what: str) -> Result:
    """Read a result of any version from 0.3.0; `what` names it in errors.

    Delegates may answer in an older version than asked, or null. CniError 6 for a wrong shape.
    """
    match document:
        case None:
            return Result()
        case dict() if "ip4" in document or "ip6" in document:
            raise CniError(DECODE_FAILURE, f"{what} is of version 0.2.0 or older")
        case dict():
            return Result(
                interfaces=tuple(
                    _read_interface(each, what) for each in _list(document, "interfaces", what)
                ),
                ips=tuple(_read_ip(each, what) for each in _list(document, "ips", what)),
                routes=tuple(
                    _object(each, "routes", what) for each in _list(document, "routes", what)
                ),
                dns=_object(document.get("dns") or {}, "dns", what),
            )
        case _:
            raise CniError(DECODE_FAILURE, f"{what} is not a result object")


def _read_interface(document: object, what: str) -> Interface:
    fields = _object(document, "interfaces", what)
    mtu = fields.get("mtu")
    return Interface(
        name=_text(fields, "name", what),
        mac=_text(fields, "mac", what),
        mtu=mtu if type(mtu) is int else 0,
        sandbox=_text(fields, "sandbox", what),
        socket_path=_text(fields, "socketPath", what),
        pci_id=_text(fields, "pciID", what),
    )


def _read_ip(document: object, what: str) -> IpConfig:
    fields = _object(document, "ips", what)
    index = fields.get("interface")
    if index is not None and type(index) is not int:
        raise CniError(DECODE_FAILURE, f"{what}: ips.interface is not a number")
    address, gateway = _text(fields, "address", what), _text(fields, "gateway", what)
    try:
        split_cidr(address)
        if gateway:
            parse_address(gateway)
    except NetworkError as error:
        raise CniError(DECODE_FAILURE, f"{what}: in ips, {error}") from None
    return IpConfig(address=address, gateway=gateway, interface=index)


def _list(document: Mapping[str, object], key: str, what: str) -> list[object]:
    value = document.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise CniError(DECODE_FAILURE, f"{what}: {key} is not a list")
    return value


def _object(value: object, key: str, what: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise CniError(DECODE_FAILURE, f"{what}: {key} is not an object")
    return value


def _text(fields: Mapping[str, object], key: str, what: str) -> str:
    value = fields.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise CniError(DECODE_FAILURE, f"{what}: {key} is not a string")
    return value
