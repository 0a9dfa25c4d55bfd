"""Classes of devices: other NICs do not count, and an unknown class never means "any"."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.netns.confs import masters_of

if TYPE_CHECKING:
    from tests.netns.mounts import Mounts
    from tests.pytest_netns import Document, Namespace, Node, Runtime

UNSUPPORTED, BAD_CONF, NO_NICS = 2, 7, 100
CLASSES: dict[str, Any] = {
    "slow": [{"minSpeed": "1Gbps"}],
    "fast": [{"minSpeed": "100Gbps"}, {"vendor": "15b3"}],
    "cards": [{"driver": "mlx5_core"}],
}
DEVICE_CLASS: dict[str, Any] = {"strategy": "devClass", "class": "fast", "classes": CLASSES}


@pytest.fixture
def fast(runtime: Runtime, mounts: Mounts) -> Runtime:
    """Return the runtime of a node that knows rail2 and rail4 to be fast, and rail3 slow."""
    mounts.mount_tmpfs("/etc/cni")
    folder = mounts.seen("/etc/cni/multinic")
    (folder / "classes.d").mkdir(parents=True)
    speeds = {"rail2": "100Gbps", "rail3": "10G", "rail4": "400Gbit/s"}
    (folder / "node.json").write_text(json.dumps({"speeds": speeds}))
    return runtime.but(wrapper=mounts.wrapper)


def conf_of(runtime: Runtime, policy: Document, **args: object) -> Document:
    return runtime.conf(masters=["rail*"], attachPolicy=policy, args={"cni": args})


def test_class_is_sorted_before_it_is_counted(fast: Runtime, node: Node, pod: Namespace) -> None:
    fast.attachment(pod, conf_of(fast, DEVICE_CLASS | {"nics": 1})).add()
    assert masters_of(pod, node) == ["rail2"]


def test_pods_class_narrows_the_admins(fast: Runtime, node: Node, pod: Namespace) -> None:
    policy = DEVICE_CLASS | {"class": "slow"}
    fast.attachment(pod, conf_of(fast, policy, **{"class": "fast"})).add()
    assert masters_of(pod, node) == ["rail2", "rail4"]


def test_pod_cannot_leave_the_admins_class(fast: Runtime, pod: Namespace) -> None:
    answer = fast.attachment(pod, conf_of(fast, DEVICE_CLASS, **{"class": "cards"})).call("ADD")
    assert "it is not of class cards" in answer.error(NO_NICS)
    assert pod.links() == {}


def test_class_of_the_nodes_folder(
    fast: Runtime, node: Node, pod: Namespace, mounts: Mounts
) -> None:
    folder = mounts.seen("/etc/cni/multinic/classes.d")
    (folder / "50-site.json").write_text(json.dumps({"site": [{"minSpeed": "200G"}]}))
    fast.attachment(pod, conf_of(fast, {"strategy": "devClass", "class": "site"})).add()
    assert masters_of(pod, node) == ["rail4"]


@pytest.mark.parametrize(
    ("policy", "args", "message"),
    [
        (DEVICE_CLASS | {"class": "gold"}, {}, "unknown class 'gold'; known here: cards, fast"),
        (DEVICE_CLASS, {"class": "gold"}, "unknown class 'gold'; known here: cards, fast"),
        ({"strategy": "devClass"}, {}, "devClass needs a class, by attachPolicy or by the pod"),
        ({"class": "fast"}, {}, "unknown class 'fast'; none is known here"),
        ({"class": "", "classes": CLASSES}, {}, "attachPolicy.class: must not be empty"),
    ],
    ids=["the admin's", "the pod's", "none", "without devClass", "an empty name"],
)
def test_unknown_class_is_an_error(
    fast: Runtime, pod: Namespace, policy: Document, args: Document, message: str
) -> None:
    answer = fast.attachment(pod, conf_of(fast, policy, **args)).call("ADD")
    assert message in answer.error(BAD_CONF)
    assert pod.links() == {}


def test_target_is_refused_where_nothing_looks_at_it(fast: Runtime, pod: Namespace) -> None:
    answer = fast.attachment(pod, conf_of(fast, DEVICE_CLASS, target="10G")).call("ADD")
    assert "args.cni.target: strategy devClass" in answer.error(UNSUPPORTED)


def test_status_does_not_need_a_pods_class(fast: Runtime, pod: Namespace) -> None:
    conf = conf_of(fast, {"strategy": "devClass", "classes": CLASSES})
    fast.attachment(pod, conf).call("STATUS").succeeded()
