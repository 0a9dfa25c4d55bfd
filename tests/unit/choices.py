"""Selections for tests: what is chosen of a node's NICs, and why the others are not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from multinic_ipam.networks import Network
from multinic_selectors.candidates import Admin, SelectionError, Wish
from multinic_selectors.selection import Selection, select

if TYPE_CHECKING:
    from collections.abc import Sequence

    from multinic_selectors.nics import Nic


def choose(
    node: Sequence[Nic],
    *,
    nets: Sequence[str] = (),
    wish: Wish | None = None,
    **words: Any,  # noqa: ANN401 - Admin's words
) -> Selection:
    admin = Admin(master_nets=[Network.parse(each) for each in nets], **words)
    return select(node, admin, wish or Wish())


def names(selection: Selection) -> list[str]:
    return [choice.nic.name for choice in selection.chosen]


def refusals(node: Sequence[Nic], **words: Any) -> dict[str, str]:  # noqa: ANN401 - Admin's words
    """Return why each NIC is not taken, of a node where none is."""
    return dict(error(node, **words).reasons)


def refusal(node: Sequence[Nic], **words: Any) -> str:  # noqa: ANN401 - Admin's words
    return str(error(node, **words))


def error(node: Sequence[Nic], **words: Any) -> SelectionError:  # noqa: ANN401 - Admin's words
    with pytest.raises(SelectionError) as raised:
        choose(node, **words)
    return raised.value
