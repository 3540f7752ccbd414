#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# From a clone to a first recorded run, on Debian or Ubuntu: ./quickstart.sh
# The same set-up, then every test: ./quickstart.sh check
# What is done already is skipped. PYTHON: the interpreter to build for, if not the system's.
set -u

packages="gcc g++ libc6-dev make autoconf automake libtool pkg-config libopenmpi-dev openmpi-bin libhdf5-openmpi-dev
  zlib1g-dev python3 python3-dev python3-numpy python3-h5py-mpi python3-mpi4py python3-pytest check"
mode=${1:-run}
case $mode in
  run) ;;
  # The library of examples/taylor_green, the compiler of the Fortran module, what they run beside asyncio, and what
  # else reads the files.
  check)
    packages="$packages python3-mpi4py-fft gfortran python3-greenlet python3-gevent python3-uvloop hdf5-tools
      python3-pandas python3-xarray"
    ;;
  *)
    echo "usage: $0 [check]" >&2
    exit 2
    ;;
esac

start=$PWD
top=$(cd "$(dirname "$0")" && pwd) || exit 1
cd "$top" || exit 1
if [ "$start" = "$top" ]; then shown=; else shown=$top/; fi

say() { printf '%-12s %s\n' "$1" "$2"; }
fail() {
  echo "quickstart: $*" >&2
  exit 1
}

# Runs a command with its output in a log, of which the end is shown if it fails.
logged() { # LOG COMMAND…
  log=$1
  shift
  "$@" >"$log" 2>&1 </dev/null && return 0
  status=$?
  echo "quickstart: failed ($status): $*" >&2
  echo "--- the end of $shown$log:" >&2
  tail -n 40 "$log" >&2
  exit 1
}

missing_packages() {
  for package in $packages; do
    case $(dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null) in
      ii*) ;;
      *) printf '%s ' "$package" ;;
    esac
  done
}

# How to become root, into as_root; fails where there is no way.
find_root() {
  as_root=
  [ "$(id -u)" != 0 ] || return 0
  command -v sudo >/dev/null || return 1
  as_root=sudo
  sudo -n true 2>/dev/null || { [ -t 0 ] && sudo -v; }
}

apt() { $as_root env DEBIAN_FRONTEND=noninteractive apt-get "$@"; }

install_packages() { # PACKAGE…
  for package in "$@"; do
    case $(apt-cache policy "$package" 2>/dev/null) in
      "" | *"Candidate: (none)"*)
        logged build/apt-update.log apt update
        break
        ;;
    esac
  done
  apt install -y --no-install-recommends "$@" >build/apt.log 2>&1 </dev/null && return 0
  logged build/apt-update.log apt update # the lists may be older than the archive
  logged build/apt.log apt install -y --no-install-recommends "$@"
}

get_packages() {
  if ! command -v apt-get >/dev/null; then
    say packages "no apt-get here: configure will name what is missing"
    return
  fi
  missing=$(missing_packages)
  if [ -z "$missing" ]; then
    say packages "all there"
    return
  fi
  if ! find_root; then
    say packages "missing, and only root can install them. Please run this, then $0 again:"
    echo
    echo "  apt-get install --no-install-recommends ${missing% }"
    echo
    exit 1
  fi
  say packages "installing $missing"
  # shellcheck disable=SC2086
  install_packages $missing
}

configure() {
  if [ -f build/Makefile ]; then
    say configure "done before"
    return
  fi
  say configure "log in ${shown}build/configure.log"
  [ -x configure ] || logged build/autoreconf.log autoreconf -i
  python=${PYTHON:-}
  if [ -z "$python" ] && command -v apt-get >/dev/null; then python=/usr/bin/python3; fi
  logged build/configure.log env -C build ../configure ${python:+"--with-python=$python"}
}

build() {
  say build "log in ${shown}build/make.log"
  logged build/make.log make -C build -j "$(nproc)"
}

setting() { sed -n "s/^$1 = //p" build/Makefile; }

run_example() {
  say run "mpirun -n 4 python3 examples/heat/sim.py --out ${shown}build/heat.h5"
  echo
  (
    . build/env.sh 2>/dev/null
    MPIRUN=$(setting MPIRUN) build-aux/launch 4 "$(setting PYTHON)" examples/heat/sim.py --out build/heat.h5 </dev/null
  ) || fail "the example failed; all that it said is above"
  cat <<END

The file of this run, which h5py opens:
  ${shown}build/heat.h5
Two commands to try next:
  . ${shown}build/env.sh
  python3 ${shown}examples/analyse/time_per_region.py ${shown}build/heat.h5
END
}

run_tests() {
  say tests "log in ${shown}build/check.log"
  logged build/check-build.log make -C build -j "$(nproc)" check TESTS=
  {
    make -C build check </dev/null 2>&1
    echo $? >build/check.status
  } | tee build/check.log | grep --line-buffered -E '^(PASS|FAIL|SKIP|ERROR|XFAIL|XPASS):'
  counts=$(build-aux/count-tests build | awk '{ print $1 " passed, " $2 " failed, " $3 " skipped" }')
  if [ "$(cat build/check.status)" != 0 ]; then
    cat build/test-suite.log >&2
    fail "tests failed: $counts; what they said is above and in ${shown}build/test-suite.log"
  fi
  say tests "$counts"
}

mkdir -p build
get_packages
configure
build
if [ "$mode" = check ]; then run_tests; else run_example; fi
