"""NICs of the node: what they are, and which of them a pod gets."""
