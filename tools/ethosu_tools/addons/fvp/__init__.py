# SPDX-License-Identifier: MIT
"""Programs with the names and the command line of Arm's Fixed Virtual Platforms (FVP).

Scripts that start an FVP start the emulator instead: README.md.
"""

OFFERS = {"command": {"fvp": "install"}, "message": {"fvp": "messages:MESSAGES"}}
