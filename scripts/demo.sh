#!/bin/bash
# A node with four NICs and two pods, all of them network namespaces: ADD through the executable with the
# real macvlan plugin, the result, a ping over every rail, DEL, and nothing left.
# Needs root on Debian 12. The machine's own interfaces are not touched.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

RAILS=4
RUN=mndemo$$
NODE=$RUN-node WIRE=$RUN-wire POD1=$RUN-pod1 POD2=$RUN-pod2
PLUGIN=$PWD/dist/bundle/multinic-cni
STATE=$(mktemp -d)

main() {
  trap clean_up EXIT
  [[ $EUID -eq 0 ]] || { echo "demo.sh: needs root, for network namespaces" >&2; exit 1; }
  install_system_packages
  scripts/build.sh
  make_node
  write_conf

  for pod in "$POD1" "$POD2"; do
    title "ADD $pod"
    call ADD "$pod" | pretty
  done
  title "Interfaces of $POD1"
  ip -n "$POD1" -br addr
  for ((rail = 1; rail <= RAILS; rail++)); do
    title "ping over rail $rail"
    ping_over "$rail"
  done
  title "DEL"
  for pod in "$POD1" "$POD2"; do call DEL "$pod"; done
  prove_nothing_left
}

title() { printf '\n=== %s\n' "$*"; }

install_system_packages() {
  local missing=()
  [[ -x /usr/lib/cni/macvlan ]] || missing+=(containernetworking-plugins)
  command -v ip >/dev/null || missing+=(iproute2)
  command -v ping >/dev/null || missing+=(iputils-ping)
  [[ ${#missing[@]} -gt 0 ]] || return 0
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# Each NIC of the node is one end of a veth pair; the other end is a port of its rail's bridge.
make_node() {
  local rail
  for name in "$NODE" "$WIRE" "$POD1" "$POD2"; do
    ip netns add "$name"
    ip -n "$name" link set lo up
  done
  for ((rail = 1; rail <= RAILS; rail++)); do
    ip -n "$WIRE" link add "switch$rail" type bridge
    ip -n "$WIRE" link add "port$rail" type veth peer name "rail$rail" netns "$NODE"
    ip -n "$WIRE" link set "port$rail" master "switch$rail" up
    ip -n "$WIRE" link set "switch$rail" up
    ip -n "$NODE" addr add "10.$rail.0.1/24" dev "rail$rail"
    ip -n "$NODE" link set "rail$rail" up
  done
}

# Four NICs need two bits of the pods' subnet (interfaceBlock); this is node 1 of 64 (hostBlock).
write_conf() {
  cat >"$STATE/conf.json" <<J
{
  "cniVersion": "1.0.0",
  "name": "rails",
  "type": "multinic-cni",
  "plugin": {"type": "macvlan", "mode": "bridge"},
  "masterNets": ["10.1.0.0/24", "10.2.0.0/24", "10.3.0.0/24", "10.4.0.0/24"],
  "attachPolicy": {"minNics": $RAILS},
  "subnet": "192.168.0.0/16",
  "hosts": {"$(uname -n)": 1},
  "ipam": {"type": "multi-nic-ipam", "interfaceBlock": 2, "hostBlock": 6},
  "dataDir": "$STATE/data"
}
J
  title "The net conf"
  cat "$STATE/conf.json"
  "$PLUGIN" validate "$STATE/conf.json"
}

# As a runtime calls: in the node's netns, the environment and the conf on stdin.
call() {
  local command=$1 pod=$2
  CNI_COMMAND=$command CNI_CONTAINERID=$pod CNI_NETNS=/run/netns/$pod CNI_IFNAME=net1 \
    CNI_PATH=/usr/lib/cni ip netns exec "$NODE" "$PLUGIN" <"$STATE/conf.json"
}

pretty() { /usr/bin/python3 -m json.tool --indent 2; }

ping_over() {
  local ifname=net1 address
  [[ $1 = 1 ]] || ifname=net1-$(($1 - 1))
  address=$(ip -n "$POD2" -j addr show "$ifname" | grep -o '"local":"[0-9.]*"' | head -1 | cut -d'"' -f4)
  ip netns exec "$POD1" ping -c 2 -i 0.2 -W 2 -I "$ifname" "$address"
}

prove_nothing_left() {
  local left
  left=$(ip -n "$POD1" -br link show type macvlan; ip -n "$POD2" -br link show type macvlan)
  left+=$(find "$STATE/data/attachments" "$STATE/data/pools" -type f ! -name 'last_reserved_ip.*')
  [[ -z $left ]] || { echo "left behind: $left" >&2; exit 1; }
  title "Nothing is left: no interface, no address, no record"
}

clean_up() {
  local name
  for name in "$POD1" "$POD2" "$NODE" "$WIRE"; do ip netns del "$name" 2>/dev/null || true; done
  rm -rf "$STATE"
}

main
