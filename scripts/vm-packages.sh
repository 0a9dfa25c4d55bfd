# shellcheck shell=bash
# Part of scripts/vm.sh: installs what it needs from Debian's archive. STATE is its folder, fail ends it.

PACKAGES=(busybox-static kmod squashfs-tools iproute2 iputils-ping pciutils containernetworking-plugins
          ibverbs-utils ibverbs-providers)
# Debian 12's own QEMU (7.2) has no NIC with virtual functions.
QEMU_PACKAGES=(qemu-system-x86 qemu-system-common qemu-system-data seabios)
OLDEST_QEMU_WITH_IGB=1:8
APT=(-qq -o DPkg::Lock::Timeout=300 -o APT::Sandbox::User=root
     -o "Dir::Etc::sourceparts=$STATE/apt/sources" -o "Dir::State::lists=$STATE/apt/lists")
export DEBIAN_FRONTEND=noninteractive

packages() {
  local package missing=()
  for package in "${PACKAGES[@]}"; do
    installed "$package" >/dev/null || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  echo "vm: installing ${missing[*]}" >&2
  apt_update
  apt_get install -y --no-install-recommends "${missing[@]}"
}

installed() { # PACKAGE: prints its version, or fails
  dpkg-query -W -f '${db:Status-Status} ${Version}\n' "$1" 2>/dev/null | sed -n 's/^installed //p' | grep .
}

has_igb() { dpkg --compare-versions "$(installed qemu-system-x86)" ge "$OLDEST_QEMU_WITH_IGB"; }

qemu() { # from Debian's backports; where they are not to be had, Debian 12's own has all but the VFs
  has_igb && return
  echo "vm: installing QEMU" >&2
  apt_update
  if backports; then
    apt_get install -y --no-install-recommends "${QEMU_PACKAGES[@]/%//bookworm-backports}"
  elif ! installed qemu-system-x86 >/dev/null; then
    apt_get install -y --no-install-recommends "${QEMU_PACKAGES[@]}"
  fi
  has_igb || echo "vm: no QEMU with igb (bookworm-backports): the guest will have no SR-IOV NIC" >&2
}

backports() { # adds those of the machine's own mirror to our sources, unless they are among them
  local mirror
  [ -z "$(mirrors_of 'Debian Backports' bookworm-backports)" ] || return 0
  mirror=$(mirrors_of Debian bookworm | head -n 1)
  [ -n "$mirror" ] || return 1
  echo "deb $mirror bookworm-backports main" >"$STATE/apt/sources/backports.list"
  (apt_get update) || { rm "$STATE/apt/sources/backports.list"; apt_get update; return 1; }
}

mirrors_of() { # ORIGIN CODENAME: where apt finds these packages
  # shellcheck disable=SC2016 # apt's own variable
  apt-get "${APT[@]}" indextargets --format '$(REPO_URI)' "Origin: $1" "Codename: $2" \
    'Component: main' 'Created-By: Packages'
}

apt_update() { # once, in our own folder: this machine's apt stays as it is set up
  [ -z "${updated:-}" ] || return 0
  rm -rf "$STATE/apt"
  mkdir -p "$STATE/apt/sources" "$STATE/apt/lists/partial"
  find /etc/apt/sources.list.d \( -name '*.list' -o -name '*.sources' \) \
    -exec cp -t "$STATE/apt/sources" {} +
  apt_get update
  updated=yes
}

apt_get() {
  apt-get "${APT[@]}" "$@" >"$STATE/apt.log" 2>&1 ||
    { tail -n 20 "$STATE/apt.log" >&2; fail "apt-get $1 failed"; }
}
