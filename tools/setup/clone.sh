#!/bin/bash
# SPDX-License-Identifier: MIT
# Clone this tree with its environment and build output, so that make rebuilds nothing there.
# Usage: clone.sh DIRECTORY; run in the root of the tree. An existing clone is kept.
set -euo pipefail

here=$PWD
clone=$(realpath -m "$1")
[ ! -e "$clone/.git" ] || exit 0
git clone --quiet "$here" "$clone"
# make compares modification times, so they must be those of the built tree.
git -C "$clone" ls-files -z | (cd "$clone" && xargs -0 -n 1 bash -c \
    'cmp -s "$0/$1" "$1" && touch -r "$0/$1" "$1" || true' "$here")
mkdir -p "$clone/build"
cp -a .venv "$clone/.venv"
for part in build/*; do
    case $clone in "$here/$part"*) ;; *) cp -a "$part" "$clone/build/" ;; esac
done
# Absolute paths: in scripts of the environment, of the installed package, and in build output.
{
    grep -rlI "$here" "$clone"/.venv/bin "$clone"/.venv/pyvenv.cfg || true
    find "$clone"/.venv -name '__editable__*' -o -name 'direct_url.json'
    grep -rlI --exclude='*.map' "$here" "$clone/build" || true
} | while read -r file; do
    touch -r "$file" "$clone/.time"
    sed -i "s#$here/#$clone/#g" "$file"
    touch -r "$clone/.time" "$file"
done
rm -f "$clone/.time"
