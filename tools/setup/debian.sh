#!/bin/sh
# SPDX-License-Identifier: MIT
# Install the Debian packages of the set-up that are missing.
# Usage: debian.sh PACKAGE...
set -eu

if ! command -v dpkg-query >/dev/null; then
    echo "error: dpkg-query not found: this set-up installs Debian packages. On other systems," \
        "install the equivalents of: $* ; then run make with DEBIAN=no." >&2
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
        echo "error: Debian packages are missing, and installing them needs root or sudo;" \
            "ask an administrator to run: apt-get install$missing" >&2
        exit 1
    fi
    as_root="sudo"
fi

apt() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q "$@"
}

echo "installing Debian packages:$missing"
# Package lists may be missing on a fresh machine and stale on an old one; an update fixes both.
# shellcheck disable=SC2086
apt install -y --no-install-recommends $missing 2>/dev/null && exit 0
apt update || echo "warning: apt-get update failed; trying with the existing package lists" >&2
# shellcheck disable=SC2086
apt install -y --no-install-recommends $missing || {
    echo "error: apt-get could not install:$missing ; see its output above, fix the package" \
        "sources or the network, and run make again." >&2
    exit 1
}
