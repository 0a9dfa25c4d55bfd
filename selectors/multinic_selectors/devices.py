"""Names of devices, as runtimes and admins give them: they must not reach a path unchecked."""

from __future__ import annotations

HEXADECIMAL = frozenset("0123456789abcdefABCDEF")
DOMAIN_DIGITS = 4  # and up to 8 where the kernel counts on: Intel VMD begins at 10000
MOST_DOMAIN_DIGITS = 8
FIELDS = (2, 2, 1)  # bus, device, function
AUXILIARY = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def is_pci_address(text: str) -> bool:
    """Tell whether a text has the form 0000:41:00.0, or 10000:e1:00.0, as sysfs writes it."""
    parts = text.split(":")
    slot, dot, function = parts[-1].partition(".")
    fields = (*parts[:-1], slot, function)
    return (
        dot == "."
        and tuple(len(field) for field in fields[1:]) == FIELDS
        and all(HEXADECIMAL.issuperset(field) for field in fields)
        and _is_domain(fields[0])
    )


def _is_domain(digits: str) -> bool:
    longer = DOMAIN_DIGITS < len(digits) <= MOST_DOMAIN_DIGITS
    return len(digits) == DOMAIN_DIGITS or (longer and digits[0] != "0")


def is_auxiliary(text: str) -> bool:
    """Tell whether a text has the form mlx5_core.sf.4: module, kind and number."""
    module, _, rest = text.partition(".")
    kind, _, number = rest.partition(".")
    return number.isdecimal() and all(
        map(AUXILIARY.issuperset, (module or ".", kind or ".", number))
    )


def normal_pci_address(text: str) -> str:
    """Return the form that sysfs has, from one with 8 digits of domain or none; empty if none."""
    text = text.strip().lower()
    if text.count(":") == 1:
        text = f"0000:{text}"
    domain, _, rest = text.partition(":")
    if DOMAIN_DIGITS < len(domain) <= MOST_DOMAIN_DIGITS:
        text = f"{domain.lstrip('0').rjust(DOMAIN_DIGITS, '0')}:{rest}"
    return text if is_pci_address(text) else ""
