#!/bin/sh
# Create .venv and install probescope into it, editable, with everything that developing it needs.
# On a bare Debian as root it installs the missing pieces of Python itself. PYTHON=... chooses the interpreter.
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*" >&2; }
fits() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }
apt_install() {
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get -qq update >&2
        DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends "$@" >&2
    else
        say "missing: $*. Install them and run 'make setup' again, for example: sudo apt-get install $*"
        exit 1
    fi
}
find_python() {
    for candidate in "${PYTHON:-}" python3 python3.11 python3.12 python3.13 python3.14 /usr/bin/python3; do
        if [ -n "$candidate" ] && fits "$candidate"; then
            # the program itself and not a version manager's shim: a shim costs time at every start of a virtual environment
            "$candidate" -c 'import os, sys; print(os.path.realpath(sys.executable))'
            return
        fi
    done
}

python=$(find_python)
if [ -z "$python" ]; then
    apt_install python3 python3-venv
    python=$(find_python)
    [ -n "$python" ] || { say "no Python >= 3.11 found; set PYTHON=/path/to/python"; exit 1; }
fi

if ! fits .venv/bin/python || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    "$python" -c 'import venv, ensurepip' 2>/dev/null || apt_install python3-venv
    rm -rf .venv
    "$python" -m venv .venv
fi
# a compiler and Python's headers make the loops over recordings faster; all works without (PROBESCOPE_COMPILE=0)
headers() { [ -e "$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ]; }
if [ "${PROBESCOPE_COMPILE:-1}" != 0 ] && { ! headers || ! command -v cc >/dev/null; }; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt_install gcc libc6-dev python3-dev || say "no compiler: recordings are read more slowly"
    fi
fi
say "installing probescope and what developing it needs into .venv: once, a minute or more"
PROBESCOPE_PAGE=0 .venv/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
# npm comes with pyright's wheel; without a registry of packages there is no page, and all else works
say "building the page of probescope timeline"
.venv/bin/python web/build.py --dev || say "probescope timeline will say that its page is missing"
# compiled once here, so that a start of the command line never pays for it
env -u PYTHONDONTWRITEBYTECODE .venv/bin/python -m compileall -q src
touch .venv/.ready
say "ready: .venv/bin/probescope"
