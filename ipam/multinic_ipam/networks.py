"""IPv4 and IPv6 networks as integers: importing `ipaddress` costs half of what VERSION does."""

from __future__ import annotations

from _socket import AF_INET, AF_INET6, inet_ntop, inet_pton

BITS = {4: 32, 6: 128}
FAMILIES = {4: AF_INET, 6: AF_INET6}


class NetworkError(ValueError):
    """A text that is no address or no network; its message says which and why."""


def parse_address(text: str) -> tuple[int, int]:
    """Return (4 or 6, the address as an integer).

    Raises NetworkError. Stricter than inet_aton: "10.1" and "010.1.2.3" are refused.
    """
    version = 6 if ":" in text else 4
    try:
        packed = inet_pton(FAMILIES[version], text)
    except (OSError, ValueError):
        message = f"{text!r} is not an IP address"
        raise NetworkError(message) from None
    return version, int.from_bytes(packed, "big")


def is_address(text: str) -> bool:
    try:
        parse_address(text)
    except NetworkError:
        return False
    return True


def format_address(version: int, number: int) -> str:
    return inet_ntop(FAMILIES[version], number.to_bytes(BITS[version] // 8, "big"))


def split_cidr(text: str) -> tuple[int, int, int]:
    """Return (version, address, prefix length) of "address/length"; raises NetworkError."""
    address_text, slash, length_text = text.partition("/")
    version, number = parse_address(address_text)
    # isdecimal() alone would take digits of other scripts, which int() reads too.
    is_number = length_text.isascii() and length_text.isdecimal()
    if not slash or not is_number or (length_text[0] == "0" and length_text != "0"):
        message = f"{text!r} has no prefix length"
        raise NetworkError(message)
    length = int(length_text) if len(length_text) <= len("128") else BITS[version] + 1
    if length > BITS[version]:
        message = f"{text!r} has a prefix longer than {BITS[version]} bits"
        raise NetworkError(message)
    return version, number, length


def parse_run(text: str) -> tuple[int, int, int]:
    """Return (version, first, last) of "address" or "address/length"; raises NetworkError.

    Host bits are no mistake here: "10.1.0.5/28" are sixteen addresses from 10.1.0.5 on.
    """
    if "/" not in text:
        version, number = parse_address(text)
        return version, number, number
    version, first, length = split_cidr(text)
    last = first + (1 << (BITS[version] - length)) - 1
    if last >> BITS[version]:
        message = f"{text!r} goes beyond the last address there is"
        raise NetworkError(message)
    return version, first, last


def canonical(text: str) -> str:
    """Return a network in the one way in which we write it, any other text as it is."""
    try:
        return str(Network.parse(text))
    except NetworkError:
        return text


class Network:
    """A block of addresses: version 4 or 6, the first address and the prefix length."""

    __slots__ = ("first", "length", "version")

    def __init__(self, version: int, first: int, length: int) -> None:
        self.version = version
        self.first = first
        self.length = length

    @classmethod
    def parse(cls, text: str) -> Network:
        """Read "10.1.0.0/24"; host bits are an error that names the right network."""
        version, number, length = split_cidr(text)
        network = cls.around(version, number, length)
        if network.first != number:
            message = f"{text!r} has host bits set: did you mean {network}?"
            raise NetworkError(message)
        return network

    @classmethod
    def around(cls, version: int, number: int, length: int) -> Network:
        """Return the network of that length which holds an address."""
        host_bits = BITS[version] - length
        return cls(version, number >> host_bits << host_bits, length)

    @property
    def size(self) -> int:
        return 1 << (BITS[self.version] - self.length)

    @property
    def last(self) -> int:
        return self.first + self.size - 1

    def holds(self, version: int, number: int) -> bool:
        return version == self.version and self.first <= number <= self.last

    def overlaps(self, other: Network) -> bool:
        return (
            self.version == other.version and self.first <= other.last and other.first <= self.last
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Network) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash((self.version, self.first, self.length))

    def __str__(self) -> str:
        return f"{format_address(self.version, self.first)}/{self.length}"

    def __repr__(self) -> str:
        return f"Network({str(self)!r})"


LINK_LOCAL = (Network.parse("169.254.0.0/16"), Network.parse("fe80::/10"))


def is_link_local(version: int, number: int) -> bool:
    return any(network.holds(version, number) for network in LINK_LOCAL)
