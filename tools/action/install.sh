#!/bin/bash
# SPDX-License-Identifier: MIT
# First step of action.yml: QEMU, and an environment with the tools in $RUNNER_TEMP/ethosu.
set -euo pipefail

root=$(dirname "$0")/../..
venv=$RUNNER_TEMP/ethosu

debian() {
    "$root/tools/setup/debian.sh" "$@"
}

command -v "${ETHOSU_QEMU:-qemu-system-arm}" >/dev/null || debian qemu-system-arm
if [ ! -x "$venv/bin/python" ]; then
    "$PYTHON" -c 'import ensurepip' 2>/dev/null || debian python3-venv
    "$PYTHON" -m venv "$venv"
fi

# A model is compared with TFLite's reference kernels, which are an extra.
extras=${CHECK:+[oracle]}
if [[ $WHEEL == *://* ]]; then
    tools="ethosu-tools$extras @ $WHEEL"
elif [ -n "$WHEEL" ]; then
    file=$(compgen -G "$WHEEL" | head -n 1) || {
        echo "::error::the input \"wheel\" is $WHEEL: no such file"
        exit 2
    }
    tools=$(realpath "$file")$extras
else
    own=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/pyproject.toml")
    tools="ethosu-tools$extras==${VERSION:-$own}"
fi
"$venv/bin/python" -m pip --disable-pip-version-check install --quiet "$tools" ${PYTEST:+pytest}
