"""NICs that go into pods themselves: what they had on the node is noted, and comes back."""
