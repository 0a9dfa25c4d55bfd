#!/bin/bash
# Collects what `multinic-cni nics, topology, explain --sysroot` read of a node, into FOLDER/<its name>:
#   collect.sh FOLDER
# Only links and a few attributes of sysfs are read, nothing is changed. Without root, or where a thing is
# not there, it is left out.
set -euo pipefail

[[ $# -eq 1 ]] || {
  echo "usage: collect.sh FOLDER" >&2
  exit 2
}
TO=$1/$(uname -n)

main() {
  mkdir -p "$TO"
  # What vanishes meanwhile is no failure, nor is an attribute that cannot be read: the speed of a link
  # that is down.
  paths 2>/dev/null | xargs -d '\n' cp --parents -dt "$TO" 2>/dev/null || true
  files_by_link 2>/dev/null | xargs -d '\n' cp --parents -Lt "$TO" 2>/dev/null || true
  # cp gives folders the modes of sysfs, in which nobody could remove them.
  chmod -R u+w "$TO"
  ip -j -d link >"$TO/ip-link.json"
  ip -j addr >"$TO/ip-addr.json"
  { ip -j route && ip -j -6 route; } >"$TO/ip-route.json"
  echo "$TO"
}

paths() {
  local buses=(/sys/bus/{pci,auxiliary}/devices) classes=(/sys/class/{net,infiniband,drm,accel,kfd})
  find "${buses[@]}" "${classes[@]}" -maxdepth 1 -type l || true
  find /sys/devices \( -type l -o -type f \) \( \
    -name vendor -o -name device -o -name class -o -name numa_node -o -name driver \
    -o -name physfn -o -name 'virtfn*' -o -name speed -o -name duplex -o -name operstate \
    -o -name ifindex -o -name dev_port -o -name phys_port_name -o -path '*/drm/*/uevent' \
    -o -path '*/infiniband/*/ports/*/state' -o -path '*/infiniband/*/ports/*/link_layer' \
    -o -path '*/gid_attrs/ndevs/*' -o -path '*/net/*/lower_*' \
    -o -path '*/kfd/topology/nodes/*/properties' \) || true
  find /sys/module/ib_core/parameters/netns_mode /proc/sys/kernel/{hostname,random/boot_id} \
    /proc/driver/nvidia/gpus/*/information /var/lib/cni/multinic -type f || true
}

# What the plugin reads through links, too: a ConfigMap's files are links to those of a hidden folder.
# They become files, since links to elsewhere are none in another place. A prober's file is no link.
files_by_link() {
  find -H /etc/cni/multinic{,/classes.d} -maxdepth 1 -xtype f || true
  find -H /var/run/nvidia-topologyd/*.xml /run/multinic-cni/health -type f || true
}

main
