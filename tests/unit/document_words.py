"""Words and small strategies that those of net confs are made of."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Document = dict[str, Any]

WORDS = st.sampled_from(["rail0", "rail*", "eth1", "enp1s0f0", "a"])
CIDRS = st.sampled_from(["10.1.0.0/24", "10.2.0.0/24", "fd00:1::/64", "192.168.0.0/16"])
ADDRESSES = st.sampled_from(["10.1.0.9", "10.1.0.20", "fd00:1::9"])
UNALIGNED = st.sampled_from(["10.1.0.5/28", "fd00:1::9/64"])
PLAIN = st.dictionaries(WORDS, st.integers(0, 9) | WORDS | st.none(), max_size=2)


def keyed(required: Document, optional: Document) -> st.SearchStrategy[Document]:
    """Return objects with these keys; values of optional ones may be null only if they say so."""
    return st.fixed_dictionaries(required, optional=optional)


def or_null(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy
