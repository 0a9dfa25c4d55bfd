"""Attachments on disk: what was done for a pod, under a lock that outlives the plugin."""
