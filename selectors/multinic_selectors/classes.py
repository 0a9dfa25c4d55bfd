"""Classes of devices: kinds of NICs by vendor, product, driver and speed."""

from __future__ import annotations

from multinic_selectors.bandwidth import format_bandwidth, parse_bandwidth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from multinic_selectors.nics import Nic
    from multinic_selectors.sysfs import Sysfs

    Kind = Mapping[str, Any]

# What a kind may say, the dearest last: a NIC's speed is a call of its driver.
KEYS = ("vendor", "products", "driver", "minSpeed")


class Classes:
    """Classes by name, each a list of kinds of NICs, any of which will do.

    A kind has one or more of `vendor` and `products` (PCI ids, four hexadecimal digits with or
    without 0x), `driver`, and `minSpeed` (a bandwidth); a NIC is of it if all of them fit.
    What is unknown of a NIC fits nothing, and a kind that says nothing no NIC.
    """

    def __init__(
        self,
        classes: Mapping[str, Sequence[Kind]],
        sysfs: Sysfs,
        speed_of: Callable[[Nic], int | None],
    ) -> None:
        self._classes = classes
        self._sysfs = sysfs
        self._speed_of = speed_of

    @property
    def names(self) -> list[str]:
        return sorted(self._classes)

    def misfit(self, nic: Nic, name: str) -> str:
        """Return why a NIC is not of a class, whose name is known; empty if it is."""
        facts = _Facts(nic, self._sysfs, self._speed_of)
        if any(facts.fit(kind) for kind in self._classes[name]):
            return ""
        return f"it is not of class {name} ({facts})"


class _Facts:
    """What a NIC is; each fact is read when it is first asked for."""

    def __init__(self, nic: Nic, sysfs: Sysfs, speed_of: Callable[[Nic], int | None]) -> None:
        self._readers: dict[str, Callable[[], str | int | None]] = {
            "address": lambda: sysfs.pci_address(nic.name),
            "vendor": lambda: sysfs.vendor(self._address) if self._address else "",
            "product": lambda: sysfs.product(self._address) if self._address else "",
            "driver": lambda: sysfs.driver(nic.name),
            "speed": lambda: speed_of(nic),
        }
        self._read: dict[str, str | int | None] = {}

    def fit(self, kind: Kind) -> bool:
        said = {key: value for key, value in kind.items() if value is not None}
        if not said or said.keys() - set(KEYS):
            return False
        return all(self._fits(key, said[key]) for key in KEYS if key in said)

    def _fits(self, key: str, wanted: Any) -> bool:  # noqa: ANN401 - each key has its own type
        match key:
            case "vendor":
                return self._is("vendor", _digits(wanted))
            case "products":
                return self._is("product", *map(_digits, wanted))
            case "driver":
                return self._is("driver", wanted)
            case _:
                return self._speed >= parse_bandwidth(wanted)

    def _is(self, name: str, *wanted: str) -> bool:
        text = self._text(name)
        return text != "" and text in wanted

    def __str__(self) -> str:
        """Word what the kinds have asked for, and read nothing more for it."""
        words = [] if self._read.get("address", "any") else ["no PCI device"]
        names = ("vendor", "product", "driver") if self._read.get("address") else ("driver",)
        words += [f"{name} {self._read[name] or 'unknown'}" for name in names if name in self._read]
        if "speed" in self._read:
            words.append(format_bandwidth(self._speed) if self._speed else "speed unknown")
        return ", ".join(words) or "it says nothing"

    @property
    def _address(self) -> str:
        return self._text("address")

    @property
    def _speed(self) -> int:
        speed = self._fact("speed")
        return speed if isinstance(speed, int) else 0

    def _text(self, name: str) -> str:
        return str(self._fact(name))

    def _fact(self, name: str) -> str | int | None:
        if name not in self._read:
            self._read[name] = self._readers[name]()
        return self._read[name]


def _digits(hexadecimal: str) -> str:
    """Return a PCI id as sysfs has it: lower case, without 0x."""
    return hexadecimal.lower().removeprefix("0x")
