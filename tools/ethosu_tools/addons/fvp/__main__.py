# SPDX-License-Identifier: MIT
"""`python -m ethosu_tools.addons.fvp NAME ...`, run by the programs of `ethosu fvp install`."""

import sys

from .models import MODELS
from .simulate import main

if __name__ == "__main__":
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in MODELS:
        sys.exit(f"expected one of {', '.join(MODELS)}, found {name!r}")
    sys.exit(main(name, sys.argv[2:]))
