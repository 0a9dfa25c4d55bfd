"""What DEL takes back in the pod, and what CHECK finds there: both from the record alone."""

from __future__ import annotations

from multinic_cni.log import log
from multinic_cni.routing.applying import Setter
from multinic_cni.routing.steps import DamagedStepsError, read_steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from multinic_cni.attachments.record import Record
    from multinic_cni.netns import PodNetns


def take_back(record: Record, pod: PodNetns) -> None:
    """Undo what was set in the pod, as far as the pod lets it be undone.

    Raises OSError where the netns cannot be entered.
    """
    try:
        steps = read_steps(record.routing)
    except DamagedStepsError as error:
        log.error(f"the record does not say what was set in the pod: {error}")
        return
    with pod.visit():
        Setter(pod.netlink).take_back(steps)


def missing(record: Record, pod: PodNetns) -> list[str]:
    """Return a sentence for each step that is not in place any more; raises OSError."""
    from multinic_cni.routing.comparing import not_in_place  # noqa: PLC0415 - only CHECK compares

    try:
        steps = read_steps(record.routing)
    except DamagedStepsError as error:
        return [str(error)]
    with pod.visit():
        return not_in_place(steps, pod.netlink)
