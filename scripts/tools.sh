#!/bin/sh
# Install the Debian packages that a target needs beyond Python; do nothing when they are there.
# usage: tools.sh test | kernels | bench
# Not root, or no apt: say what is missing and go on. The tests that need a missing program skip with a reason.
set -eu

missing=
need() { # need PROGRAM-OR-HEADER-OR-FILE PACKAGE
    case $1 in
    /*) [ -e "$1" ] || missing="$missing $2" ;;
    *.h) find /usr/include /usr/include/*-linux-gnu -maxdepth 2 -path "*/$1" 2>/dev/null | grep -q . || missing="$missing $2" ;;
    *) PATH="$PATH:/usr/sbin:/sbin" command -v "$1" >/dev/null || missing="$missing $2" ;;
    esac
}

for target in "$@"; do
    case $target in
    test)
        need gcc gcc
        need g++ g++
        need clang clang
        need aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
        need aarch64-linux-gnu-g++ g++-aarch64-linux-gnu
        need /bin/busybox busybox-static
        need stdio.h libc6-dev
        need sys/sdt.h systemtap-sdt-dev
        need readelf binutils
        need /usr/lib/debug/.build-id libc6-dbg
        need mount mount
        need ps procps
        need bash bash
        need bpftrace bpftrace
        need bpftool bpftool
        need perf linux-perf
        need trace-cmd trace-cmd
        need llvm-mc llvm
        need fish fish
        need chromium chromium
        need rustc rustc
        need go golang-go
        need node nodejs
        need dwz dwz
        need perl perl
        ;;
    kernels)
        need qemu-system-x86_64 qemu-system-x86
        need /bin/busybox busybox-static
        need xz xz-utils
        need zstd zstd
        need gcc gcc
        need g++ g++
        need stdio.h libc6-dev
        need sys/sdt.h systemtap-sdt-dev
        ;;
    bench)
        need bpftrace bpftrace
        need bpftool bpftool
        need perf linux-perf
        need trace-cmd trace-cmd
        need perl perl
        need gcc gcc
        need stdio.h libc6-dev
        ;;
    *) echo "tools.sh: unknown target $target" >&2; exit 2 ;;
    esac
done

[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing:$missing" >&2
    apt-get -qq update >&2
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends $missing >/dev/null
else
    echo "missing:$missing (to install: sudo apt-get install$missing)" >&2
fi
