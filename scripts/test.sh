#!/bin/bash
# All tests, on a Debian 12 machine with root. Installs what they need, builds the executable, runs them.
#   scripts/test.sh                     everything
#   scripts/test.sh tests/unit          a part; any arguments of pytest
# Network tests work in namespaces, the kernel's in a virtual machine: the machine's own interfaces are
# not touched.
set -Eeuo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

VENV=build/test-venv
PACKAGES=(python3-venv libpython3.11 binutils git) # the build, and tests/unit
NETWORK_PACKAGES=(
  iproute2 iputils-ping util-linux procps containernetworking-plugins strace gcc libc6-dev # netns
  iperf3                                                                                   # netns
  podman runc busybox-static                                                               # e2e
)
trap 'echo "test.sh: failed at line $LINENO" >&2' ERR

main() {
  [[ $# -gt 0 ]] || set -- tests/unit tests/netns tests/e2e tests/vm
  [[ "$*" = tests/unit* ]] && [[ $# -eq 1 ]] || PACKAGES+=("${NETWORK_PACKAGES[@]}")
  install_system_packages
  scripts/build.sh
  make_venv
  exec $VENV/bin/python -m pytest "$@"
}

install_system_packages() {
  local missing
  missing=$({ dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${PACKAGES[@]}" 2>/dev/null || true; } |
    awk '$2 == "installed" {print $1}' | sort | comm -13 - <(printf '%s\n' "${PACKAGES[@]}" | sort))
  [[ -n $missing ]] || return 0
  if [[ $EUID -ne 0 ]]; then
    echo "test.sh: as root it would install:" $missing >&2
    exit 1
  fi
  apt-get update -qq
  # shellcheck disable=SC2086 # a list of words
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

make_venv() {
  local wanted
  wanted=$(sha256sum requirements/test.txt)
  [[ $(cat $VENV/contents 2>/dev/null) != "$wanted" ]] || return 0
  rm -rf $VENV
  /usr/bin/python3 -m venv $VENV
  $VENV/bin/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements/test.txt
  echo "$wanted" >$VENV/contents
}

main "$@"
