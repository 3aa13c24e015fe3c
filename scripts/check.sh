#!/bin/sh
# Every check, also after one has failed, and at the end which did.
set -u
cd "$(dirname "$0")/.."
failed=
check() { # check NAME COMMAND...
    name=$1
    shift
    printf '== %s\n' "$name"
    "$@" || failed="$failed $name"
}
check format .venv/bin/ruff format --check --output-format=concise .
check lint .venv/bin/ruff check --output-format=concise .
check mypy .venv/bin/mypy
check pyright .venv/bin/pyright
check imports .venv/bin/lint-imports
check rooms .venv/bin/python -m checks.rooms
check sizes .venv/bin/python -m checks.sizes
check reference .venv/bin/python -m checks.reference
[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
