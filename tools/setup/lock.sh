#!/bin/sh
# SPDX-License-Identifier: MIT
# Renew requirements.lock from pyproject.toml, and litert_newest.lock, with pip-tools in an
# environment of its own.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
.venv/bin/python -m venv "$work"
"$work/bin/pip" install --quiet pip-tools

# No option of the machine's own (index, links) may reach the committed files.
compile_pins() {
    "$work/bin/pip-compile" --quiet --upgrade --generate-hashes --allow-unsafe --strip-extras \
        --no-header --no-emit-index-url --no-emit-find-links --no-emit-trusted-host "$@"
}

compile_pins --extra oracle --extra demo --extra test --extra native --extra docs --extra lint \
    --all-build-deps --output-file requirements.lock pyproject.toml
echo "ai-edge-litert>2" >"$work/litert.in"
compile_pins --no-annotate --output-file tools/setup/litert_newest.lock "$work/litert.in"
