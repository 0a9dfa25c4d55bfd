"""The verbs of the CNI specification, one file each."""
