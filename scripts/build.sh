#!/bin/bash
# Builds dist/bundle/multinic-cni (one folder) and dist/multinic-cni (one file) with PYTHON, by default
# Debian's, and prints the oldest glibc that the bundle runs on. Does nothing when nothing changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

PYTHON=${PYTHON:-/usr/bin/python3}
VENV=build/venv
OUTPUTS=(dist/bundle/multinic-cni dist/multinic-cni)
# Same sources, same bundle: no hash order, no dates, and nothing from the caller's Python set-up.
export PYTHONHASHSEED=0 SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-315532800} PYTHONOPTIMIZE=1
unset PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONWARNINGS

main() {
  mkdir -p build
  exec 9>build/lock
  flock 9
  install_system_packages
  local inputs
  inputs=$(fingerprint)
  if [[ ! -x ${OUTPUTS[0]} || ! -x ${OUTPUTS[1]} || $(cat dist/inputs 2>/dev/null) != "$inputs" ]]; then
    make_venv
    freeze
    echo "$inputs" >dist/inputs
  fi
  echo "built: ${OUTPUTS[*]}"
  echo "needs: glibc $(glibc_floor dist/bundle)"
}

# PyInstaller needs objdump and, since Debian's interpreter is static, the shared libpython beside it.
install_system_packages() {
  local missing=()
  # Which shared library is needed can be told only once Debian's interpreter is there.
  [[ -e $PYTHON || $PYTHON != /usr/bin/python3 ]] || apt_install python3-venv
  "$PYTHON" -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
  command -v objdump >/dev/null || missing+=(binutils)
  [[ $(realpath "$PYTHON") != /usr/bin/python3.* ]] ||
    compgen -G "/usr/lib/*/lib$(basename "$(realpath "$PYTHON")").so.1.0" >/dev/null ||
    missing+=("lib$(basename "$(realpath "$PYTHON")")")
  [[ ${#missing[@]} -eq 0 ]] || apt_install "${missing[@]}"
}

apt_install() {
  if [[ $EUID -ne 0 ]] || ! command -v apt-get >/dev/null; then
    echo "build.sh: missing here: $* (Debian's names); install them, or be root" >&2
    exit 1
  fi
  apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

fingerprint() {
  {
    "$PYTHON" -VV
    realpath "$PYTHON"
    find multinic_cni ipam selectors packaging -type f \( -name '*.py' -o -name '*.spec' \) -print0 |
      sort -z | xargs -0 sha256sum
    sha256sum requirements/build.txt scripts/build.sh
  } | sha256sum | cut -d' ' -f1
}

make_venv() {
  local wanted
  wanted=$("$PYTHON" -VV && realpath "$PYTHON" && sha256sum requirements/build.txt)
  [[ $(cat $VENV/contents 2>/dev/null) != "$wanted" ]] || return 0
  rm -rf $VENV
  "$PYTHON" -m venv $VENV
  $VENV/bin/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements/build.txt
  echo "$wanted" >$VENV/contents
}

# The project itself is not installed: the spec files name its source roots, so no old copy can get in.
freeze() {
  rm -rf build/dist build/pyinstaller
  mkdir build/pyinstaller
  local form job jobs=()
  for form in bundle onefile; do
    freeze_one $form &
    jobs+=($!)
  done
  for job in "${jobs[@]}"; do wait "$job"; done
  rm -rf dist
  mv build/dist dist
}

freeze_one() {
  local log=build/pyinstaller/$1.log
  PYINSTALLER_CONFIG_DIR=build/pyinstaller/config-$1 $VENV/bin/python -m PyInstaller --noconfirm \
    --distpath build/dist --workpath build/pyinstaller "packaging/$1.spec" &>"$log" || {
    cat "$log" >&2
    return 1
  }
}

# The newest symbol version of glibc that any of the folder's programs and libraries asks for.
glibc_floor() {
  find "$1" -type f -exec sh -c 'readelf -VW "$@" 2>/dev/null || true' sh {} + |
    grep -o 'GLIBC_2[0-9.]*' | cut -d_ -f2 | sort -uV | tail -1
}

main
