#!/usr/bin/env bash
# What a new user does first, in a clone: .ci/first_minutes.sh sandboxes|no-ids
# `sandboxes`: they must work, on the host's own root; `no-ids`: they must say in one line what is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

tests() { .venv/bin/python -m pytest -q -n 2 --dist loadfile -m "not full" -rs tests/sandboxes tests/environments/operating_system; }

rm -rf quickstart
make --no-print-directory quickstart
. .venv/bin/activate
perdure doctor
perdure doctor --json > doctor.json
make --no-print-directory .venv/.dev-installed

case $1 in
  no-ids)
    tests | tee tests.log
    grep -q "'newuidmap' is not installed; run: " tests.log
    ;;
  sandboxes)
    python .ci/expect.py doctor doctor.json
    printf '[environment]\nname = "operating_system"\nroot = "host"\n[agent]\nkind = "oracle"\n' > oracle.toml
    perdure run oracle.toml --quiet --no-floors --json > oracle.json
    python .ci/expect.py oracle oracle.json
    tests
    ;;
esac
