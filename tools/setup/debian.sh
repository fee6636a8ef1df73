#!/bin/sh
# SPDX-License-Identifier: MIT
# Install those Debian packages of the set-up that are not there yet.
# Usage: debian.sh PACKAGE...
set -eu

if ! command -v dpkg-query >/dev/null; then
    echo "error: no dpkg-query here: this set-up installs Debian packages. On another system" \
        "install the like of: $* ; then run make with DEBIAN=no." >&2
    exit 1
fi

missing=
for package in "$@"; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || state=
    [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "error: these Debian packages are missing and neither root nor sudo is at hand;" \
            "let an administrator run: apt-get install$missing" >&2
        exit 1
    fi
    as_root="sudo"
fi

apt() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q "$@"
}

echo "installing Debian packages:$missing"
# A fresh machine has no package lists, an old one has stale lists: both fix the same way.
# shellcheck disable=SC2086
apt install -y --no-install-recommends $missing 2>/dev/null && exit 0
apt update || echo "warning: apt-get update failed; trying with the package lists at hand" >&2
# shellcheck disable=SC2086
apt install -y --no-install-recommends $missing || {
    echo "error: apt-get could not install:$missing ; look at its lines above, fix the package" \
        "sources or the network, and run make again." >&2
    exit 1
}
