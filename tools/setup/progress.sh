#!/bin/bash
# SPDX-License-Identifier: MIT
# Show the number of files that a build makes, on one line; pass all other output through.
# Usage: make ... | progress.sh PART
set -u

part=$1
count=0

show() {
    if [ -t 1 ]; then printf '\r\033[K    %s: %d files%s' "$part" "$count" "$1"; fi
}

while IFS= read -r line; do
    case $line in
        "AR "* | "AS "* | "CC "* | "LINK "* | "MPY "*)
            count=$((count + 1))
            show ""
            ;;
        "GEN "* | "Use make V=1 "* | *" updated" | "") ;;
        *)
            if [ -t 1 ]; then printf '\r\033[K'; fi
            printf '%s\n' "$line"
            ;;
    esac
done

if [ "$count" -gt 0 ]; then
    if [ -t 1 ]; then printf '\r\033[K'; fi
    printf '    %s: %d files built\n' "$part" "$count"
fi
