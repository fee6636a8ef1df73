#!/bin/sh
# SPDX-License-Identifier: MIT
# Update requirements.lock from pyproject.toml, with pip-tools in a separate environment.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
.venv/bin/python -m venv "$work"
"$work/bin/pip" install --quiet pip-tools

# No local option of this machine (index, links) may reach the committed file.
"$work/bin/pip-compile" --quiet --upgrade --generate-hashes --allow-unsafe --strip-extras \
    --no-header --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
    --extra oracle --extra demo --extra test --extra native --extra docs --extra lint \
    --all-build-deps --output-file requirements.lock pyproject.toml
