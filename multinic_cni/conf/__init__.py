"""The net conf: its models (the source), the table made of them, the checker, the typed view."""
