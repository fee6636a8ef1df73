# SPDX-License-Identifier: MIT
"""`python -m ethosu_tools.fvp NAME ...`: what the programs of `ethosu fvp install` run."""

import sys

from .simulate import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
