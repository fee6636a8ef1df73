#!/bin/bash
# SPDX-License-Identifier: MIT
# Run README's two commands in a new root of a Debian release, which has nothing but git and make.
# Usage: fresh.sh RELEASE [root|user]...; run in the root of the tree, of which HEAD is cloned there.
#
# root is Debian's root; user has no rights but sudo. Without either, both are tried. For sid, which
# changes daily, only `make demo` is run, and its first error is reported without failing.
# Logs and roots are in build/fresh; the root of a run that succeeds is removed unless KEEP=yes.
# Exit code 77: this machine cannot do it.
set -euo pipefail

release=${1:-}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- root user
case $release in
    '' | *[!a-z]*)
        echo "usage: fresh.sh RELEASE [root|user]..., such as: make fresh RELEASE=trixie" >&2
        exit 2
        ;;
esac
for who in "$@"; do
    case $who in
        root | user) ;;
        *) echo "error: WHO is \"$who\", expected root or user" >&2; exit 2 ;;
    esac
done

cannot() {
    echo "fresh: $1, so no root of $release can be tried here" >&2
    exit 77
}

[ "$(id -u)" = 0 ] || cannot "mounts and chroot need the rights of root"
if command -v mmdebstrap >/dev/null; then
    # A mirror may be older than the index of sid is valid for; that of a release has no limit.
    bootstrap() {
        mmdebstrap --quiet --variant=minbase --aptopt='Acquire::Check-Valid-Until "false"' \
            --include="$1" "$release" "$2" ${MIRROR:-}
    }
elif command -v debootstrap >/dev/null; then
    bootstrap() { debootstrap --variant=minbase --include="$1" "$release" "$2" ${MIRROR:-}; }
else
    cannot "mmdebstrap and debootstrap are not installed"
fi
unshare --mount --pid --fork true 2>/dev/null || cannot "unshare can make no namespaces"

folder=build/fresh
commands=("make demo" "make test")
[ "$release" != sid ] || commands=("make demo")
TIMEFORMAT='%0R s wall, %0U s user, %0S s system'

# What this machine's clients of apt and pip need: certificates, proxies, names.
copy_settings() {
    local file
    for file in /etc/resolv.conf /etc/ssl/certs/ca-certificates.crt /etc/apt/apt.conf.d/*proxy* \
        /etc/pip.conf ${FRESH_FILES:-}; do
        [ ! -e "$file" ] || install -D -m 644 "$file" "$1$file" || return
    done
}

make_root() {
    local root=$1 who=$2 packages=ca-certificates,git,make
    [ "$who" = root ] || packages=$packages,sudo
    rm -rf --one-file-system "$root"
    bootstrap "$packages" "$root" || return 77
    copy_settings "$root" && { [ "$who" = root ] || add_user "$root"; } &&
        git clone --quiet --no-local . "$root$(home "$who")/tree" &&
        chroot "$root" chown -R "$who:$who" "$(home "$who")/tree"
}

add_user() {
    chroot "$1" useradd --create-home --shell /bin/bash user &&
        printf '%s\n' 'Defaults env_keep += "http_proxy https_proxy no_proxy"' \
            'user ALL=(ALL) NOPASSWD: ALL' >"$1/etc/sudoers.d/user"
}

home() {
    [ "$1" = root ] && echo /root || echo /home/user
}

# In a mount namespace of its own, so that nothing stays mounted, however this ends. The shell in it
# is process 1 and waits for orphans. Boards need pseudo terminals, Python's processes /dev/shm.
# shellcheck disable=SC2016
within='
    root=$1; shift
    mount -t proc proc "$root/proc"
    mount -t tmpfs -o mode=755 tmpfs "$root/dev"
    for node in null zero full random urandom tty; do
        : >"$root/dev/$node" && mount --bind "/dev/$node" "$root/dev/$node"
    done
    mkdir "$root/dev/pts" "$root/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
    ln -s pts/ptmx "$root/dev/ptmx"
    ln -s /proc/self/fd "$root/dev/fd"
    for link in 0:stdin 1:stdout 2:stderr; do ln -s "fd/${link%:*}" "$root/dev/${link#*:}"; done
    "$@"; code=$?
    exit $code'

run_in() {
    local root=$1 who=$2 command=$3 settings code
    mapfile -t settings < <(env | grep -E '^(PIP_|SSL_CERT|REQUESTS_CA|GIT_SSL|(https?|no)_proxy=)' || true)
    unshare --mount --pid --fork --kill-child --propagation private sh -c "$within" sh "$root" \
        chroot --userspec="$who:$who" --groups="$who" "$root" \
        env -i HOME="$(home "$who")" USER="$who" TERM=dumb LANG=C.UTF-8 \
        PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin ${settings[@]+"${settings[@]}"} \
        sh -c "cd ~/tree && $command" </dev/null &
    running=$!
    wait "$running"
    code=$?
    running=
    return "$code"
}

running= # the run that ends with this script
# unshare ignores gentler signals, and kills what it started.
trap '[ -z "$running" ] || kill -KILL "$running"' EXIT
trap 'exit 143' INT TERM HUP

# Run the commands as one of the two; the log gets all output, the terminal a line for each.
try() {
    local root=$1 who=$2 log=$3 command code
    echo "$release, $who, commit $(git rev-parse HEAD)" >"$log"
    make_root "$root" "$who" >>"$log" 2>&1 || return $?
    for command in "${commands[@]}"; do
        echo "\$ $command" >>"$log"
        code=0
        { time run_in "$root" "$who" "$command" >>"$log" 2>&1 || code=$?; } 2>"$log.time"
        echo "$release, $who: $command: exit code $code, $(cat "$log.time")" | tee -a "$log"
        rm "$log.time"
        [ "$code" = 0 ] || return 1
    done
}

mkdir -p "$folder"
failed=
for who in "$@"; do
    root=$folder/$release-$who log=$folder/$release-$who.log code=0
    try "$(realpath -m "$root")" "$who" "$log" || code=$?
    [ "$code" != 77 ] || cannot "the archive gave no root (see $log)"
    if [ "$code" != 0 ]; then
        failed="$failed $log"
        grep -m 1 -iE 'error|not found|no rule' "$log" || tail -n 3 "$log"
    elif [ "${KEEP:-}" != yes ]; then
        rm -rf --one-file-system "$root"
    fi
done
[ -n "$failed" ] || exit 0
echo "fresh: README's commands failed in a new root of $release; see$failed" >&2
[ "$release" = sid ]
