#!/bin/bash
# A small virtual machine with Debian's own kernel, for tests that need what this machine's kernel
# lacks (ipvlan, dummy, vlan, bonding) or PCI network devices.
set -euo pipefail

STATE=${MULTINIC_VM:-/var/tmp/multinic-vm}
CHECKOUT=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
source "$CHECKOUT/scripts/vm-packages.sh"
# What the first stage needs to find its disks, its output port and the shared folder.
BOOT_MODULES=(virtio_pci virtio_blk squashfs overlay virtio_console 9pnet_virtio 9p)
SYSTEM=(bin sbin lib lib64 etc usr/bin usr/sbin usr/lib64 usr/lib/x86_64-linux-gnu usr/lib/cni
        usr/lib/python3 usr/lib/python3.11)

help() {
  cat <<EOF_HELP
usage: scripts/vm.sh setup
       scripts/vm.sh run [-n NICS] [-m MIB] [-t SECONDS] [-o DIR] [-p PATH]... -- COMMAND...

setup  install QEMU (apt), fetch Debian's kernel, pack this machine's programs as the guest's system.
       Needs root on Debian 12 (amd64), and no virtualisation: QEMU emulates the processor.
       What is done already is not done again.
run    set up if needed, boot, and run COMMAND as root in the guest, in this checkout. Its output
       appears here and its exit status is this script's. The guest sees a copy of this checkout and
       of each PATH, at the same places; nothing that it writes there comes back.
  -n   virtio NICs, eth0 and so on, in one network segment that ends inside the machine, and beside
       them a NIC with virtual functions (igb, whose driver is not loaded) and two displays; all in
       a tree of two NUMA nodes, three root complexes and a switch (default: 0, and none of these)
  -m   memory in MiB (default: 2048)
  -t   end the machine after that many seconds with status 124 (default: 600)
  -o   a folder which the guest can write to, there /run/vm/out (default: none is kept)

Everything is kept in $STATE (MULTINIC_VM names another folder).
EOF_HELP
}

fail() { echo "vm: $*" >&2; exit 125; }

setup() {
  [ "$(id -u)" = 0 ] || fail "setup needs root"
  [ "$(dpkg --print-architecture)" = amd64 ] || fail "only amd64 is supported"
  mkdir -p "$STATE"
  { [ -O "$STATE" ] && [ ! -L "$STATE" ]; } || fail "$STATE belongs to somebody else"
  chmod 0700 "$STATE" # it holds a copy of /etc
  exec 8>"$STATE/lock"
  flock 8
  find "$STATE" -maxdepth 1 -name 'run.*' -mtime +1 -exec rm -rf {} + # of runs that were killed
  packages
  qemu
  once "kernel" kernel
  once "initrd $(sha256sum <"${BASH_SOURCE[0]}") $(<"$STATE/kernel.version")" initrd
  once "system $(dpkg-query -W | cat - "${BASH_SOURCE[0]}" | sha256sum) $(<"$STATE/kernel.version")" system
  exec 8>&-
}

once() { # KEY FUNCTION: executes FUNCTION unless it has succeeded with this very key
  local stamp=$STATE/$2.done
  [ -f "$stamp" ] && [ "$(<"$stamp")" = "$1" ] && return
  echo "vm: preparing the $2" >&2
  rm -f "$stamp"
  "$2"
  echo "$1" >"$stamp"
}

kernel() { # unpacked in our folder only: this machine's own boot files stay as they are
  local package
  apt_update
  package=$(apt-cache "${APT[@]}" depends linux-image-amd64 | awk '/Depends: linux-image-/ {print $2; exit}')
  [ -n "$package" ] || fail "apt knows no linux-image-amd64"
  rm -rf "$STATE/kernel"
  mkdir -p "$STATE/kernel"
  (cd "$STATE/kernel" && apt_get download "$package")
  dpkg-deb -x "$STATE"/kernel/"$package"_*.deb "$STATE/kernel"
  rm "$STATE"/kernel/*.deb
  depmod -b "$STATE/kernel" "${package#linux-image-}"
  echo "${package#linux-image-}" >"$STATE/kernel.version"
}

initrd() {
  local tree module version
  version=$(<"$STATE/kernel.version")
  tree=$(mktemp -d "$STATE/initrd.XXXXXX")
  mkdir -p "$tree"/{bin,modules,proc,sys,dev,system,project,changes,root}
  cp /bin/busybox "$tree/bin/"
  for module in "${BOOT_MODULES[@]}"; do
    modprobe -d "$STATE/kernel" -S "$version" --show-depends --ignore-install "$module"
  done | awk '$1 == "insmod" && !seen[$2]++ {print $2}' | while read -r module; do
    cp "$module" "$tree/modules/"
    basename "$module" >>"$tree/modules/order"
  done
  first_stage >"$tree/init"
  chmod +x "$tree/init"
  (cd "$tree" && find . | busybox cpio -o -H newc 2>/dev/null) | gzip -1 >"$STATE/initrd.gz.new"
  mv "$STATE/initrd.gz.new" "$STATE/initrd.gz"
  rm -rf "$tree"
}

first_stage() { # the guest's first process, up to the change into the real root
  cat <<'EOF_FIRST'
#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc proc /proc; $b mount -t sysfs sysfs /sys; $b mount -t devtmpfs devtmpfs /dev
for module in $($b cat /modules/order); do $b insmod "/modules/$module"; done
$b mount -t squashfs -o ro /dev/vda /system
$b mount -t squashfs -o ro /dev/vdb /project
$b mount -t tmpfs -o size=75%,mode=755 tmpfs /changes
$b mkdir /changes/upper /changes/work
$b mount -t overlay -o lowerdir=/project:/system,upperdir=/changes/upper,workdir=/changes/work overlay /root
for folder in proc sys dev run tmp root var/lib; do $b mkdir -p "/root/$folder"; done
$b chmod 1777 /root/tmp
$b mount -t tmpfs -o mode=755 tmpfs /root/run
$b mkdir -p /root/run/vm /root/run/netns
$b mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=none vm /root/run/vm
for folder in proc sys dev; do $b mount --move "/$folder" "/root/$folder"; done
exec $b switch_root /root /bin/bash /run/vm/init
EOF_FIRST
}

second_stage() { # COMMAND...: the rest of the start, the command, the end; no udev, no init system
  cat <<'EOF_SECOND'
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t cgroup2 cgroup2 /sys/fs/cgroup
ln -sfn /proc/self/fd /dev/fd
for n in 0:stdin 1:stdout 2:stderr; do ln -sfn "/proc/self/fd/${n%:*}" "/dev/${n#*:}"; done
hostname vm
ip link set lo up
modprobe virtio_net
port=$(dirname "$(grep -lx output /sys/class/virtio-ports/*/name)")
EOF_SECOND
  printf '(cd %q && exec' "$CHECKOUT"
  printf ' %q' "$@"
  cat <<'EOF_SECOND'
) </dev/null >"/dev/${port##*/}" 2>&1
echo $? >/run/vm/status
sync
echo o >/proc/sysrq-trigger
sleep 60
EOF_SECOND
}

system() { # this machine's own programs, so that the guest runs what was installed and built here
  local version present=() path
  version=$(<"$STATE/kernel.version")
  for path in "${SYSTEM[@]}"; do
    if [ -e "/$path" ] || [ -L "/$path" ]; then present+=("$path"); fi
  done
  pack "$STATE/system.new" --exclude='*.a' --exclude='libLLVM*' --exclude='*/python3*/test' \
    --exclude='usr/lib/x86_64-linux-gnu/qemu' --exclude='usr/bin/qemu-*' --exclude='etc/shadow*' \
    --exclude='etc/gshadow*' --exclude='etc/ssh' --exclude='etc/ssl/private' \
    --exclude='*/kernel/drivers/gpu' --exclude='*/kernel/drivers/media' --exclude='*/kernel/sound' \
    --transform='s,^lib/modules/,usr/lib/modules/,' "${present[@]}" \
    -C "$STATE/kernel" "lib/modules/$version"
  mv "$STATE/system.new" "$STATE/system.sqfs"
}

project() { # IMAGE PATH...: the checkout and what else the command needs
  local image=$1 path relative=("${CHECKOUT#/}")
  shift
  for path in "$@"; do
    path=$(realpath -e "$path")
    case $path/ in "$CHECKOUT"/*) ;; *) relative+=("${path#/}") ;; esac
  done
  pack "$image" --exclude="${CHECKOUT#/}/.git" --exclude="${CHECKOUT#/}/build/venv" \
    --exclude="${CHECKOUT#/}/build/pyinstaller" --exclude='.*_cache' "${relative[@]}"
}

pack() { # IMAGE TAR-ARGUMENTS...: from /
  local image=$1 status
  shift
  rm -f "$image"
  # Status 1 of tar: a file changed while it was read, which a living machine cannot exclude.
  { tar -C / -cf - "$@" 2>"$STATE/tar.log" || { status=$?; [ $status = 1 ]; }; } |
    sqfstar -comp lz4 -quiet -no-progress "$image" || { cat "$STATE/tar.log" >&2; fail "cannot pack $image"; }
}

# NUMA node 0: root complex 0: a switch with GPU 0, NICs 5 and 6; a port of its own with NIC 7
#              root complex 2: NIC 0; the SR-IOV NIC
# NUMA node 1: root complex 1: NICs 1 to 4; GPU 1
# From NIC 8 on the same again. The GPUs are bare displays: what counts is where they are plugged in.
# With eight NICs, Linux finds them in this order and calls them eth0 to eth7.
NUMA_NODES=(0 1 0)
PLACES=(root2 root1 root1 root1 root1 switch switch root0)

nics() { # COUNT MIB: QEMU's arguments for the NICs and the tree that they are plugged into
  local count=$1 memory=$2 i
  [ "$count" -gt 0 ] || return 0
  for i in 0 1; do
    echo "-object memory-backend-ram,id=memory$i,size=$((memory / 2))M"
    echo "-numa node,nodeid=$i,cpus=$i,memdev=memory$i"
  done
  for i in "${!NUMA_NODES[@]}"; do
    echo "-device pxb-pcie,id=root$i,bus_nr=$((32 * (i + 1))),bus=pcie.0,numa_node=${NUMA_NODES[i]}"
  done
  plug root0 x3130-upstream,id=switch
  plug switch bochs-display,romfile=
  for ((i = 0; i <= count; i++)); do echo "-netdev hubport,id=wire$i,hubid=0"; done
  for ((i = 0; i < count; i++)); do
    plug "${PLACES[i % ${#PLACES[@]}]}" "virtio-net-pci,$(wired "$i")"
  done
  ! has_igb || plug root2 "igb,$(wired "$count")"
  plug root1 bochs-display,romfile=
}

plug() { # BUS DEVICE: into a port of its own, of the switch or of a root complex
  local kind=pcie-root-port
  [ "$1" != switch ] || kind=xio3130-downstream
  ports=$((${ports:-0} + 1))
  echo "-device $kind,id=port$ports,bus=$1,chassis=$ports,slot=$ports -device $2,bus=port$ports"
}

wired() { # NUMBER: the properties of a NIC on the one wire
  printf 'netdev=wire%d,mac=52:54:00:00:00:%02x,romfile=' "$1" "$1"
}

emulate() { # FOLDER NICS MIB SECONDS: boots, with the command of FOLDER/init, until the guest is off
  local folder=$1 nics=$2 memory=$3 limit=$4 arguments
  read -r -d '' -a arguments < <(nics "$nics" "$memory") || true
  # QEMU closes the output port when its standard input ends, so it gets one that never does.
  mkfifo "$folder/endless"
  exec 9<>"$folder/endless"
  # KVM is not asked for: where it opens but cannot run this kernel, QEMU hangs instead of falling back.
  # The machine ends with this script, however that ends.
  setpriv --pdeathsig TERM timeout --foreground "$limit" qemu-system-x86_64 -machine q35 -accel tcg,thread=multi -cpu max \
    -m "$memory" -smp 2 -nodefaults -no-user-config -display none -no-reboot \
    -kernel "$STATE/kernel/boot/vmlinuz-$(<"$STATE/kernel.version")" -initrd "$STATE/initrd.gz" \
    -append "console=ttyS0 loglevel=4 panic=-1 mitigations=off audit=0 no_timer_check net.ifnames=0" \
    -serial "file:$folder/console" \
    -drive "file=$STATE/system.sqfs,format=raw,readonly=on,if=none,id=system" \
    -device virtio-blk-pci,drive=system \
    -drive "file=$folder/project.sqfs,format=raw,readonly=on,if=none,id=project" \
    -device virtio-blk-pci,drive=project \
    -fsdev "local,id=vm,path=$folder/share,security_model=none" -device virtio-9p-pci,fsdev=vm,mount_tag=vm \
    -chardev stdio,id=output,signal=off -device virtio-serial-pci \
    -device virtserialport,name=output,chardev=output \
    "${arguments[@]}" <&9 2> >(grep -v 'not connected to host network' >&2)
}

run() {
  local nics=0 memory=2048 limit=600 out='' paths=() option folder status=0
  while getopts n:m:t:o:p: option; do
    case $option in
      n) nics=$OPTARG ;; m) memory=$OPTARG ;; t) limit=$OPTARG ;; o) out=$OPTARG ;;
      p) paths+=("$OPTARG") ;; *) help >&2; exit 2 ;;
    esac
  done
  shift $((OPTIND - 1))
  [ $# -gt 0 ] || { help >&2; exit 2; }
  setup
  folder=$(mktemp -d "$STATE/run.XXXXXX")
  trap 'rm -rf "$folder"' EXIT
  mkdir -p "$folder/share/out"
  project "$folder/project.sqfs" "${paths[@]}"
  second_stage "$@" >"$folder/share/init"
  emulate "$folder" "$nics" "$memory" "$limit" || status=$?
  [ -z "$out" ] || { mkdir -p "$out"; cp -a "$folder/share/out/." "$folder/console" "$out/"; }
  if [ ! -f "$folder/share/status" ]; then
    tail -n 20 "$folder/console" >&2 || true
    [ $status != 124 ] || { echo "vm: ended after $limit seconds; above: its console" >&2; exit 124; }
    fail "the guest never reported a status (QEMU: $status); above: the end of its console"
  fi
  exit "$(<"$folder/share/status")"
}

case ${1:-} in
  setup | run) "$@" ;;
  help | -h | --help) help ;;
  *) help >&2; exit 2 ;;
esac
