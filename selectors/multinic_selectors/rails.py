"""Rails of a fabric: which NIC of this node is rail k, whatever it is called here."""

from __future__ import annotations

from multinic_selectors.candidates import SelectionError
from multinic_selectors.devices import is_pci_address
from multinic_selectors.globs import matches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from multinic_selectors.candidates import MasterNet
    from multinic_selectors.nics import Nic
    from multinic_selectors.sysfs import Sysfs

DRIVER = "driver:"  # no name of a NIC can hold a colon


class Rails:
    """The rails that this node has: from a NIC's name to the rail's number, and the holes."""

    def __init__(self, places: dict[str, int], missing: Sequence[tuple[str, str]]) -> None:
        self.places = places
        self.missing = missing


def find_rails(
    alternatives: Sequence[Sequence[str]],
    nics: Sequence[Nic],
    sysfs: Sysfs,
    network: Callable[[str], MasterNet],
) -> Rails:
    """Find each rail's NIC: that of the first of its alternatives which this node has.

    An alternative is a PCI address, a subnet in which the NIC has an address, "driver:NAME", or a
    name, altname or glob. Raises SelectionError where a rail is not one NIC, or a NIC two rails:
    rail k must be k on every node.
    """
    nics = [nic for nic in nics if not nic.is_vlan_of_pods]  # rail* fits rail1.100, too
    places: dict[str, int] = {}
    missing: list[tuple[str, str]] = []
    for number, texts in enumerate(alternatives):
        found = _nic_of_rail(number, texts, nics, sysfs, network)
        if found is None:
            missing.append((f"rail {number}", f"this node has no {' or '.join(texts)}"))
        elif found.name in places:
            message = f"NIC {found.name} would be rail {places[found.name]} and rail {number}"
            raise SelectionError(message)
        else:
            places[found.name] = number
    return Rails(places, missing)


def _nic_of_rail(
    number: int,
    texts: Sequence[str],
    nics: Sequence[Nic],
    sysfs: Sysfs,
    network: Callable[[str], MasterNet],
) -> Nic | None:
    for text in texts:
        found = _matching(text, nics, sysfs, network)
        if len(found) > 1:
            names = ", ".join(sorted(nic.name for nic in found))
            message = f"rail {number} is not certain: {text} fits the NICs {names}"
            raise SelectionError(message)
        if found:
            return found[0]
    return None


def _matching(
    text: str, nics: Sequence[Nic], sysfs: Sysfs, network: Callable[[str], MasterNet]
) -> list[Nic]:
    if is_pci_address(text):
        names = sysfs.nics(text)
        return [nic for nic in nics if nic.name in names]
    if text.startswith(DRIVER):
        driver = text.removeprefix(DRIVER)
        return [nic for nic in nics if sysfs.driver(nic.name) == driver]
    if "/" in text:
        net = network(text)
        return [nic for nic in nics if any(net.holds(each[0], each[1]) for each in nic.addresses)]
    # A name may hold wildcards, and is then more than a pattern that fits others as well.
    exact = [nic for nic in nics if text in (nic.name, *nic.altnames)]
    return exact or [
        nic for nic in nics if any(matches(name, text) for name in (nic.name, *nic.altnames))
    ]
