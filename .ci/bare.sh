#!/usr/bin/env bash
# The first minutes on machines of other people: Python and make and nothing else, a private home, no cache.
# An account is made for this and removed at the end with everything of it, however that comes.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() { echo "== on a bare machine: skipped, because $1"; exit 0; }
[ "$(id -u)" = 0 ] || skip "only root can hide programs and make an account"
for program in git make setpriv unshare useradd userdel usermod; do
  command -v "$program" >/dev/null || skip "$program is not installed"
done
unshare --mount --pid --fork --mount-proc --kill-child true 2>/dev/null || skip "namespaces are forbidden here"

account="perdure-ci-$$"
place=$(mktemp -d /var/tmp/perdure-ci.XXXXXX)
clean_up() {  # by force: the ids granted to the account may be in use by others
  userdel --force "$account" 2>/dev/null || true
  rm -rf "$place"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
chmod 711 "$place"  # passed through by the account; what lies in it is private
useradd --no-create-home --home-dir "$place/user" --shell /bin/bash "$account"
as_user=(setpriv "--reuid=$account" "--regid=$account" --init-groups)

find_python() {
  local python
  while read -r python; do
    if "${as_user[@]}" "$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$python"
      return
    fi
  done < <(type -aP python3 python3.14 python3.13 python3.12 python3.11)
}
python=$(find_python)
[ -n "$python" ] || skip "no Python 3.11+ with venv is there that an ordinary user may run"

# What a way to the packages needs, and nothing else of our own environment.
keep=()
while IFS= read -r -d '' variable; do
  case "${variable%%=*}" in
    PIP_* | UV_* | *_proxy | *_PROXY | SSL_CERT_* | REQUESTS_CA_BUNDLE | CURL_CA_BUNDLE | LANG | LC_*) keep+=("$variable") ;;
  esac
done < <(env -0)

prepare() {  # prepare FOLDER OWNER: a clone and a home in a folder that nobody else may enter
  install -d -m 700 "$1" "$1/home" "$1/home/.config" "$1/home/tmp"
  for settings in pip uv; do  # which mirror to use
    if [ -d "$HOME/.config/$settings" ]; then cp -r "$HOME/.config/$settings" "$1/home/.config/"; fi
  done
  git -c safe.directory='*' clone --quiet --no-hardlinks . "$1/perdure"
  chown -R "$2:$2" "$1"
}

stage() {  # stage WHAT FOLDER HIDDEN… -- COMMAND…: in a clean environment and in namespaces that end with it
  local what=$1 folder=$2
  shift 2
  echo "== $what"
  (
    cd "$folder/perdure"
    # Signals as in a terminal, also where this script itself was started in the background.
    env -i --default-signal=INT,QUIT,HUP "${keep[@]}" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin PYTHON="$python" \
      HOME="$folder/home" TMPDIR="$folder/home/tmp" XDG_CACHE_HOME="$folder/home/cache" \
      unshare --mount --pid --fork --mount-proc --kill-child .ci/hidden.sh "$@"
  )
}

optional=(mmdebstrap debootstrap mariadbd mysqld virtuoso-t isql-vt docker dockerd podman bwrap crun runc)
prepare "$place/user" "$account"
prepare "$place/root" root

stage "as an ordinary user, with nothing installed" "$place/user" \
  "${optional[@]}" newuidmap newgidmap -- "${as_user[@]}" .ci/first_minutes.sh no-ids
stage "as root, with nothing installed" "$place/root" \
  "${optional[@]}" newuidmap newgidmap -- .ci/first_minutes.sh sandboxes

.ci/install.sh uidmap
if command -v newuidmap >/dev/null; then
  grep -qs "^$account:" /etc/subuid || usermod --add-subuids 500000000-500065535 "$account"
  grep -qs "^$account:" /etc/subgid || usermod --add-subgids 500000000-500065535 "$account"
  stage "as an ordinary user, with uidmap and ids" "$place/user" \
    "${optional[@]}" -- "${as_user[@]}" .ci/first_minutes.sh sandboxes
else
  echo "== as an ordinary user, with uidmap and ids: skipped, because uidmap cannot be installed here"
fi
