#!/bin/bash
# SPDX-License-Identifier: MIT
# Count what a build says it makes, on one line; pass on all else that it says.
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
    printf '    %s: %d files made\n' "$part" "$count"
fi
