from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tests.netns.confs import ranges

if TYPE_CHECKING:
    from tests.netns.state import State
    from tests.pytest_netns import Attachment, Namespaces, Node, Runtime

PODS, AT_ONCE, RAILS = 64, 16, (1, 2, 3, 4)


def test_64_pods_of_4_nics_by_16_processes_at_once(
    runtime: Runtime, namespaces: Namespaces, node: Node, state: State
) -> None:
    """Each pool has just 64 addresses: none may be given twice, and none is missing."""
    conf = runtime.conf(cniVersion="1.0.0", **ranges(*RAILS, first=100, last=100 + PODS - 1))
    before = node.facts()
    attachments = [runtime.attachment(namespaces.make("pod"), conf) for _ in range(PODS)]

    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(lambda attachment: attachment.add(), attachments))

    for index, rail in enumerate(RAILS):
        given = [result["ips"][index]["address"] for result in results]
        assert sorted(given) == [f"10.{rail}.0.{host}/24" for host in range(100, 164)]
    for attachment, result in zip(attachments, results, strict=True):
        shown = [ip["address"] for ip in result["ips"]]
        in_pod = [addresses for _, addresses in sorted(attachment.pod.addresses().items())]
        assert in_pod == [[address] for address in shown]
    assert len(state.records()) == PODS
    assert len(state.addresses()) == PODS * len(RAILS)

    def take_and_leave(attachment: Attachment) -> None:
        attachment.delete().succeeded()
        if attachments.index(attachment) % 4 == 0:
            attachment.add()
            attachment.delete().succeeded()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(take_and_leave, attachments))

    assert [attachment.pod.links() for attachment in attachments] == [{}] * PODS
    assert state.left() == []
    assert node.facts() == before
