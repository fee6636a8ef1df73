#!/bin/bash
# SPDX-License-Identifier: MIT
# Clone this tree with its environment and build output, so that make rebuilds nothing there.
# Usage: clone.sh DIRECTORY; run in the root of the tree. An existing clone is kept.
set -euo pipefail

here=$PWD
clone=$(realpath -m "$1")
[ ! -e "$clone/.git" ] || exit 0
new=$clone.new # renamed when it is complete
rm -rf "$new"
git clone --quiet "$here" "$new"
# make compares modification times, so they must be those of the built tree.
git -C "$new" ls-files -z | (cd "$new" && xargs -0 -n 1 bash -c \
    'cmp -s "$0/$1" "$1" && touch -r "$0/$1" "$1" || true' "$here")
mkdir -p "$new/build"
cp -a .venv "$new/.venv"
for part in build/*; do
    # Not other clones, nor the roots of `make fresh`, in which a running one has mounted its own /proc.
    # In the cache, tests that run rename what is new.
    case $new/$part in
    "$here/$part"* | */build/fresh | */build/mutations | */build/without) ;;
    */build/cache) cp -a "$part" "$new/build/" 2>/dev/null || true ;;
    *) cp -a "$part" "$new/build/" ;;
    esac
done
# Absolute paths: in scripts of the environment, of the installed package, and in build output.
{
    grep -rlI "$here" "$new"/.venv/bin "$new"/.venv/pyvenv.cfg || true
    find "$new"/.venv -name '__editable__*' -o -name 'direct_url.json'
    grep -rlI --exclude='*.map' "$here" "$new/build" || true
} | while read -r file; do
    touch -r "$file" "$new/.time"
    sed -i "s#$here/#$clone/#g" "$file"
    touch -r "$new/.time" "$file"
done
rm -f "$new/.time"
mv "$new" "$clone"
