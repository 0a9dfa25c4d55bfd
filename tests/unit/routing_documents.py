"""Strategies of the routing block."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.unit.document_words import ADDRESSES, CIDRS, WORDS, keyed, or_null

NICS = or_null(st.lists(WORDS, min_size=1, max_size=2))
MTUS = or_null(st.integers(68, 65535))
SYSCTLS = st.sampled_from(["net.ipv4.conf.IFNAME.arp_ignore", "net/ipv6/conf/all/forwarding"])
ROUTING = keyed(
    {},
    {
        "sourceRules": st.booleans(),
        "deviceRules": st.booleans(),
        "firstTable": st.integers(256, 0xFFFF_FC18),
        "routes": or_null(
            st.lists(
                keyed(
                    {"dst": CIDRS},
                    {
                        "gw": or_null(ADDRESSES),
                        "nics": NICS,
                        "metric": or_null(st.integers(0, 0xFFFF_FFFF)),
                        "mtu": MTUS,
                    },
                ),
                max_size=2,
            )
        ),
        "defaultRoute": or_null(WORDS),
        "keepOnPrimary": or_null(st.lists(CIDRS, max_size=2)),
        "crossRail": or_null(
            keyed(
                {
                    "supernet": CIDRS | st.lists(CIDRS, min_size=1, max_size=2),
                    "via": WORDS | st.sampled_from(["all", "none"]),
                },
                {},
            )
        ),
        "sysctls": or_null(st.dictionaries(SYSCTLS, WORDS, max_size=2)),
        "dad": st.booleans(),
        "linkLocal": st.booleans(),
        "neighbors": or_null(
            st.lists(
                keyed({"address": ADDRESSES, "mac": st.just("02:00:5e:10:00:01")}, {"nics": NICS}),
                max_size=2,
            )
        ),
        "gatewayCheck": st.sampled_from(["off", "warn", "skip", "fail"]),
        "announce": st.booleans(),
        "nodeRoutes": st.booleans(),
    },
)
