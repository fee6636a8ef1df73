#!/bin/bash
# SPDX-License-Identifier: MIT
# Run a build; show the number of files that it makes on one line, and pass all other output through.
# Usage: progress.sh PART make ...
set -u

part=$1
shift
count=0

# Can the line be written over?
live() { [ -t 1 ] && [ "${TERM:-dumb}" != dumb ]; }

show() {
    if live; then printf '\r\033[K    %s: %d files%s' "$part" "$count" "$1"; fi
}

while IFS= read -r line; do
    case $line in
        "AR "* | "AS "* | "CC "* | "LINK "* | "MPY "*)
            count=$((count + 1))
            show ""
            ;;
        "GEN "* | "Use make V=1 "* | *" updated" | "") ;;
        *)
            if live; then printf '\r\033[K'; fi
            printf '%s\n' "$line"
            ;;
    esac
done < <("$@")
wait $!
status=$?

if [ "$count" -gt 0 ]; then
    if live; then printf '\r\033[K'; fi
    if [ "$status" -eq 0 ]; then end="$count files built"; else end="failed after $count files"; fi
    printf '    %s: %s\n' "$part" "$end"
fi
exit "$status"
