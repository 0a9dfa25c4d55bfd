"""multinic-cni: one CNI plugin that attaches a pod to several NICs of its node."""

from __future__ import annotations

__version__ = "0.1.0"
