"""Routes, rules and settings in the pod: planned from the net conf, set, compared, undone."""
