"""From the conf and the pod's wishes to a choice of NICs and the inner names. Pure."""

from __future__ import annotations

from multinic_cni.delegates import TAKE_THE_NIC
from multinic_cni.errors import BAD_CONF, BAD_ENVIRONMENT, UNSUPPORTED_FIELD, CniError
from multinic_cni.invocation import LONGEST_IFNAME
from multinic_cni.values import Value
from multinic_selectors.candidates import Admin, Wish

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from multinic_cni.conf.netconf import NetConf
    from multinic_selectors.candidates import Choice

BY_BANDWIDTH = ("perfOpt", "costOpt")


def admin_of(conf: NetConf) -> Admin:
    policy = conf.attach_policy
    return Admin(
        master_nets=conf.master_nets,
        masters=conf.masters,
        takes_nics=conf.chain[0]["type"] in TAKE_THE_NIC,
        nics=policy.nics,
        min_nics=policy.min_nics,
        unhealthy=policy.unhealthy,  # type: ignore[arg-type]  # the schema lets three words pass
    )


class Asked(Value):
    """What a pod asks for; `target` is the admin's where the pod has none, in Mbit/s."""

    wish: Wish
    class_name: str = ""
    target: int | None = None


def wish_of(conf: NetConf) -> Asked:
    """Read the pod's `cni-args`, which nobody has checked; CniError 7 or 2 names what is wrong.

    `master` is the word of the operator's documents, `masters` that of its code.
    """
    cni_args = conf.cni_args
    nics = cni_args.get("nics")
    if isinstance(nics, str) and nics.isascii() and nics.isdecimal():
        nics = int(nics[:9])
    if nics is not None and (type(nics) is not int or nics < 1):
        message = f"args.cni.nics: must be a whole number from 1, not {cni_args['nics']!r}"
        raise CniError(BAD_CONF, message)
    masters: list[str] = []
    for key in ("masters", "master"):
        value = cni_args.get(key)
        listed = [value] if isinstance(value, str) else value or []
        if not isinstance(listed, list) or not all(type(each) is str for each in listed):
            raise CniError(BAD_CONF, f"args.cni.{key}: must be a list of NIC names, not {value!r}")
        masters += listed
    class_name = cni_args.get("class") or ""
    if not isinstance(class_name, str):
        raise CniError(BAD_CONF, f"args.cni.class: must be the name of a class, not {class_name!r}")
    return Asked(wish=Wish(masters=masters, nics=nics), class_name=class_name, target=_target(conf))


def _target(conf: NetConf) -> int | None:
    """Return what the pod needs of all NICs together: what it asks for, if it is not too much."""
    policy, text = conf.attach_policy, conf.cni_args.get("target")
    if text is None or text == "":
        return policy.target
    if policy.strategy not in BY_BANDWIDTH:
        message = (
            f"args.cni.target: strategy {policy.strategy} of this network does not look at"
            f" bandwidth; {' and '.join(BY_BANDWIDTH)} do"
        )
        raise CniError(UNSUPPORTED_FIELD, message)
    from multinic_selectors import bandwidth  # noqa: PLC0415 - only where it is asked for

    try:
        target = bandwidth.parse_bandwidth(text if isinstance(text, str) else repr(text))
    except bandwidth.BandwidthError as error:
        raise CniError(BAD_CONF, f"args.cni.target: {error}") from None
    if policy.target is not None and target > policy.target:
        allowed = bandwidth.format_bandwidth(policy.target)
        message = f"args.cni.target: {text} is more than this network allows, {allowed}"
        raise CniError(BAD_CONF, message)
    return target


def inner_names(
    mode: str, ifname: str, choices: Sequence[Choice], existing: Collection[str]
) -> list[str]:
    """Name the pod's interfaces; CniError 4 or 7 where a name cannot be.

    `spec` gives the first the name that the runtime asked for, so that it finds it; where a plugin
    before us in the chain has made that one (`existing`), numbers begin at -1. `rail` numbers by
    place, so that a missing NIC shifts no other's name. `indexed` is the operator's way.
    """
    first = 1 if ifname in existing else 0
    numbers = list(range(first, first + len(choices)))
    if mode == "rail":
        numbers = [first + (choice.place or 0) for choice in choices]
        _refuse_shared_places(choices)
    elif mode == "indexed":
        numbers = list(range(len(choices)))
    bare_zero = mode != "indexed"
    names = [ifname if number == 0 and bare_zero else f"{ifname}-{number}" for number in numbers]
    too_long = [name for name in names if len(name) > LONGEST_IFNAME]
    if too_long:
        message = (
            f"CNI_IFNAME {ifname!r} is too long for {len(names)} interfaces: {too_long[0]!r} has"
            f" more than {LONGEST_IFNAME} bytes"
        )
        raise CniError(BAD_ENVIRONMENT, message)
    return names


def _refuse_shared_places(choices: Sequence[Choice]) -> None:
    by_place: dict[int | None, str] = {}
    for choice in choices:
        other = by_place.setdefault(choice.place, choice.nic.name)
        if other != choice.nic.name:
            message = (
                f"interfaceNames rail: NICs {other} and {choice.nic.name} have the same place in"
                " masterNets or masters, so their rail is not certain; name them one by one"
            )
            raise CniError(BAD_CONF, message)
