#!/bin/sh
# SPDX-License-Identifier: MIT
# Create or update the virtual environment of the tools.
# Usage: venv.sh DIRECTORY [PYTHON]; run in the root of the tree.
set -eu

venv=$1
requested=${2:-}

is_supported() {
    "$1" -c 'import sys
supported = sys.implementation.name == "cpython" and sys.version_info[:2] in ((3, 11), (3, 12), (3, 13))
sys.exit(not supported)' 2>/dev/null
}

find_python() {
    for candidate in $requested python3.11 python3 python3.12 python3.13 /usr/bin/python3; do
        if is_supported "$candidate"; then
            echo "$candidate"
            return
        fi
        [ -z "$requested" ] || break
    done
    found=$("${requested:-python3}" --version 2>&1) || found="no ${requested:-python3}"
    echo "error: the virtual environment needs CPython 3.11, 3.12 or 3.13 (ethos-u-vela 5.2.0 has" \
        "wheels only for these), but found ${found};" \
        "install one and run: make PYTHON=/path/to/python3.13" >&2
    return 1
}

if [ -e "$venv" ] && ! is_supported "$venv/bin/python"; then
    echo "replacing $venv: its Python is not CPython 3.11, 3.12 or 3.13"
    rm -rf "$venv"
fi
if [ ! -x "$venv/bin/pip" ]; then
    python=$(find_python)
    echo "creating $venv with $("$python" --version)"
    "$python" -m venv --clear "$venv" || {
        rm -rf "$venv"
        echo "error: $python could not create a virtual environment; on Debian, install the" \
            "package python3-venv and run make again." >&2
        exit 1
    }
fi

pip() {
    "$venv/bin/python" -m pip --disable-pip-version-check "$@"
}

# Without an index, pip succeeds only if everything is already installed.
pip install --quiet --dry-run --no-index --require-hashes -r requirements.lock 2>/dev/null ||
    pip install --quiet --require-hashes -r requirements.lock || {
    echo "error: the Python packages of requirements.lock could not be installed; see pip's output" \
        "above, check the network or the package index, and run make again." >&2
    exit 1
}
pip install --quiet --no-deps --no-build-isolation --editable .
