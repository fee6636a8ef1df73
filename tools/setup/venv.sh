#!/bin/sh
# SPDX-License-Identifier: MIT
# Make or refresh the virtual environment of the tools.
# Usage: venv.sh DIRECTORY [PYTHON]; run in the root of the tree.
set -eu

venv=$1
wanted=${2:-}

is_right() {
    "$1" -c 'import sys
right = sys.implementation.name == "cpython" and sys.version_info[:2] in ((3, 11), (3, 12))
sys.exit(not right)' 2>/dev/null
}

find_python() {
    for candidate in $wanted python3.11 python3 python3.12 /usr/bin/python3; do
        if is_right "$candidate"; then
            echo "$candidate"
            return
        fi
        [ -z "$wanted" ] || break
    done
    found=$("${wanted:-python3}" --version 2>&1) || found="no ${wanted:-python3}"
    echo "error: the virtual environment needs CPython 3.11 or 3.12 (ai-edge-litert 1.2.0, the" \
        "reference of all results, has wheels for no other), but found ${found};" \
        "install one and run: make PYTHON=/path/to/python3.12" >&2
    return 1
}

if [ -e "$venv" ] && ! is_right "$venv/bin/python"; then
    echo "replacing $venv: its Python is not CPython 3.11 or 3.12"
    rm -rf "$venv"
fi
if [ ! -x "$venv/bin/pip" ]; then
    python=$(find_python)
    echo "making $venv with $("$python" --version)"
    "$python" -m venv --clear "$venv" || {
        rm -rf "$venv"
        echo "error: $python could not make a virtual environment; on Debian install the package" \
            "python3-venv, and run make again." >&2
        exit 1
    }
fi

pip() {
    "$venv/bin/python" -m pip --disable-pip-version-check "$@"
}

# Without an index pip succeeds only when all is there already.
pip install --quiet --dry-run --no-index --require-hashes -r requirements.lock 2>/dev/null ||
    pip install --require-hashes -r requirements.lock || {
    echo "error: the Python packages of requirements.lock could not be installed; look at pip's" \
        "lines above, check the network or the package index, and run make again." >&2
    exit 1
}
pip install --quiet --no-deps --no-build-isolation --editable .
