#!/usr/bin/env bash
# Install the named Debian packages where that is possible: .ci/install.sh PACKAGE…
set -euo pipefail

if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
  echo "not installed, because this is not Debian or we are not root: $*"
elif ! dpkg -s "$@" >/dev/null 2>&1; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
fi
