"""From the conf and the pod's wishes to a choice of NICs and the inner names. Pure."""

from __future__ import annotations

from multinic_cni.conf.problems import shown
from multinic_cni.delegate_types import TAKE_THE_NIC
from multinic_cni.errors import BAD_CONF, BAD_ENVIRONMENT, UNSUPPORTED_FIELD, CniError
from multinic_cni.invocation import LONGEST_IFNAME
from multinic_cni.values import Value
from multinic_selectors.candidates import Admin, Wish

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from multinic_cni.conf.netconf import NetConf
    from multinic_selectors.candidates import Choice

# What a pod may send: each master is compared with each NIC's names. An altname has 127 bytes.
MOST_MASTERS, LONGEST_NAME = 256, 127


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
        message = f"args.cni.nics: must be a whole number from 1, not {shown(cni_args['nics'])}"
        raise CniError(BAD_CONF, message)
    masters = dict.fromkeys([*_masters(cni_args, "masters"), *_masters(cni_args, "master")])
    class_name = cni_args.get("class") or ""
    if not isinstance(class_name, str) or len(class_name) > LONGEST_NAME:
        message = f"args.cni.class: must be the name of a class, not {shown(class_name)}"
        raise CniError(BAD_CONF, message)
    return Asked(
        wish=Wish(masters=tuple(masters), nics=nics), class_name=class_name, target=_target(conf)
    )


def _masters(cni_args: Mapping[str, object], key: str) -> list[str]:
    value = cni_args.get(key)
    listed = [value] if isinstance(value, str) else value or []
    if not isinstance(listed, list) or not all(
        type(each) is str and len(each) <= LONGEST_NAME for each in listed
    ):
        message = f"args.cni.{key}: must be a list of NIC names, not {shown(value)}"
        raise CniError(BAD_CONF, message)
    if len(listed) > MOST_MASTERS:
        message = f"args.cni.{key}: {len(listed)} names are more than a pod may give"
        raise CniError(BAD_CONF, f"{message}, {MOST_MASTERS}")
    return listed


def _target(conf: NetConf) -> int | None:
    """Return what the pod needs of all NICs together: what it asks for, if it is not too much."""
    policy, text = conf.attach_policy, conf.cni_args.get("target")
    if text is None or text == "":
        return policy.target
    from multinic_cni.conf.nic_rules import BY_BANDWIDTH  # noqa: PLC0415 - where it is asked for

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
