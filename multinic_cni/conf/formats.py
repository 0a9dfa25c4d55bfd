"""Formats of strings in the net conf: one pure function each, used by the models and the checker.

Each returns what is wrong with a text, as the end of a sentence, or an empty string.
"""

from __future__ import annotations

from multinic_cni.conf.problems import shown
from multinic_cni.invocation import name_problem
from multinic_ipam.networks import Network, NetworkError, parse_address, parse_run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


MAC_DIGITS, ID_DIGITS = 12, 4
HEX = frozenset("0123456789abcdefABCDEF")


def network_name(text: str) -> str:
    return name_problem(text) if text else "must not be empty"


def cidr(text: str) -> str:
    try:
        Network.parse(text)
    except NetworkError as error:
        return str(error)
    return ""


def cidr_or_empty(text: str) -> str:
    return cidr(text) if text else ""


def address(text: str) -> str:
    try:
        parse_address(text)
    except NetworkError as error:
        return str(error)
    return ""


def cidr_or_address(text: str) -> str:
    """Accept host bits: so many addresses from the given one on, as the operator counts them."""
    try:
        parse_run(text)
    except NetworkError as error:
        return str(error)
    return ""


def delegate_type(text: str) -> str:
    """Accept an executable's bare name: a path in it would leave CNI_PATH."""
    if not text:
        return "must not be empty"
    if "/" in text or "\0" in text or text in {".", ".."}:
        return "must be the bare name of an executable in CNI_PATH"
    return ""


def absolute_path(text: str) -> str:
    if not text.startswith("/") or "\0" in text:
        return "must be an absolute path"
    return "must not hold '..'" if ".." in text.split("/") else ""


def nic_pattern(text: str) -> str:
    if not text:
        return "must not be empty"
    return "must not hold '/' or white space" if any(c == "/" or c.isspace() for c in text) else ""


def bandwidth(text: str) -> str:
    from multinic_selectors.bandwidth import BandwidthError, parse_bandwidth  # noqa: PLC0415 - rare

    try:
        parse_bandwidth(text)
    except BandwidthError as error:
        return str(error)
    return ""


def hex_id(text: str) -> str:
    """Accept four digits as lspci writes them, also with 0x before them."""
    digits = text.removeprefix("0x")
    if len(digits) == ID_DIGITS and HEX.issuperset(digits):
        return ""
    return f"{shown(text)} is no PCI id of four hexadecimal digits, such as 15b3"


def pci_address(text: str) -> str:
    from multinic_selectors.devices import is_pci_address  # noqa: PLC0415 - rare

    return "" if is_pci_address(text) else f"{shown(text)} is no PCI address such as 0000:3b:00.0"


def class_name(text: str) -> str:
    """Refuse the empty name that a template leaves: it would mean NICs of any class."""
    return "" if text.strip() else "must not be empty"


def rail(text: str) -> str:
    """Accept a PCI address, a subnet, driver:NAME, or a NIC's name, altname or glob."""
    if text.startswith("driver:"):
        return "" if text.removeprefix("driver:") else "must name a driver"
    if "/" in text:
        return cidr(text)
    return pci_address(text) if ":" in text else nic_pattern(text)


def mac(text: str) -> str:
    digits = text.replace(":", "")
    if len(digits) == MAC_DIGITS and HEX.issuperset(digits) and text[2::3] == ":" * 5:
        return ""
    return f"{shown(text)} is no MAC such as 02:00:5e:10:00:01"


def sysctl(text: str) -> str:
    """Accept a name of the network's settings, its parts joined by dots or by slashes."""
    separator = "/" if "/" in text else "."
    first, *rest = text.split(separator)
    if first == "net" and rest and all(part and part != ".." and "\0" not in part for part in rest):
        return ""
    return f"{shown(text)} is no setting of a network such as net.ipv4.conf.IFNAME.arp_ignore"


FORMATS: dict[str, Callable[[str], str]] = {
    "network-name": network_name,
    "cidr": cidr,
    "cidr-or-empty": cidr_or_empty,
    "ip-address": address,
    "cidr-or-address": cidr_or_address,
    "delegate-type": delegate_type,
    "absolute-path": absolute_path,
    "nic-pattern": nic_pattern,
    "mac": mac,
    "bandwidth": bandwidth,
    "hex-id": hex_id,
    "pci-address": pci_address,
    "class-name": class_name,
    "rail": rail,
    "sysctl": sysctl,
}
