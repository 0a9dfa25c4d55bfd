"""Run the plugin: `python -m multinic_cni`, and the entry of the frozen executable."""

from __future__ import annotations

from multinic_cni.edge import main

if __name__ == "__main__":
    main()
