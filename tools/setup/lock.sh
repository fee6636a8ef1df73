#!/bin/sh
# SPDX-License-Identifier: MIT
# Update requirements.lock from pyproject.toml, with uv in a separate environment. What differs
# between the supported releases of Python has a marker.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
.venv/bin/python -m venv "$work"
"$work/bin/pip" install --quiet uv
.venv/bin/python -c 'import tomllib
for line in tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"]: print(line)' \
    >"$work/build-system.in"

# No local option of this machine (index, links) may reach the committed file.
"$work/bin/uv" pip compile --quiet --upgrade --universal --fork-strategy fewest --generate-hashes \
    --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
    --extra oracle --extra demo --extra test --extra native --extra docs --extra wasm --extra lint \
    --output-file requirements.lock pyproject.toml "$work/build-system.in"
