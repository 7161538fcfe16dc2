#!/usr/bin/env bash
# Run a command where programs and the caches of others are not there: .ci/hidden.sh PROGRAM… -- COMMAND…
# Only within a mount namespace of its own: nothing is moved or removed, and it all is back when that ends.
set -euo pipefail

mount --make-rprivate /
empty=$(mktemp)
while [ "$1" != -- ]; do
  for folder in /usr/local/sbin /usr/local/bin /usr/sbin /usr/bin /usr/libexec; do
    if [ -f "$folder/$1" ]; then mount --bind "$empty" "$folder/$1"; fi
  done
  shift
done
shift
for folder in /root/.cache /home/*/.cache; do
  if [ -d "$folder" ]; then mount -t tmpfs -o mode=700 none "$folder"; fi
done
exec "$@"
