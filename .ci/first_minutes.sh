#!/usr/bin/env bash
# What a new user does first, in a clone: .ci/first_minutes.sh sandboxes|no-ids
# `sandboxes`: they must work, on the host's own root; `no-ids`: they must say in one line what is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

sandbox_tests() {
  .venv/bin/python -m pytest -q -n 2 --dist loadfile -m "not full" -rs tests/sandboxes \
    tests/environments/operating_system >tests.log || { cat tests.log; return 1; }
  # What was skipped, a line a reason.
  sed -nE 's/^SKIPPED \[([0-9]+)\] [^ ]+ (.*)/\1 \2/p' tests.log |
    awk '{ n = $1; $1 = ""; skipped[$0] += n } END { for (reason in skipped) print "skipped " skipped[reason] ":" reason }'
  tail -n 1 tests.log
}

rm -rf quickstart
make --no-print-directory quickstart
. .venv/bin/activate

# Whatever `doctor` says that brings the parts of a sandbox does bring them.
perdure doctor --json >doctor.json
python .ci/expect.py remedies doctor.json | while read -r command; do
  echo "$command"
  bash -c "$command"
done
perdure doctor
perdure doctor --json >doctor.json
make --no-print-directory .venv/.dev-installed

case $1 in
  no-ids)
    python .ci/expect.py no-sandbox doctor.json
    sandbox_tests
    grep -q "'newuidmap' is not installed; run: " tests.log
    ;;
  sandboxes)
    python .ci/expect.py sandbox doctor.json
    printf '[environment]\nname = "operating_system"\nroot = "host"\n[agent]\nkind = "oracle"\n' >oracle.toml
    perdure run oracle.toml --quiet --no-floors --json >oracle.json
    python .ci/expect.py oracle oracle.json
    perdure check sandbox bubblewrap --set root=host
    sandbox_tests
    ;;
esac
