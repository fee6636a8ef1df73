# SPDX-License-Identifier: MIT
"""The wake words of `ethosu demo wakeword`.

keywords.py  the reference result of a wake word, compared with the board's
listen.py    runs on the board: samples in, a line per inference out
"""

OFFERS = {"command": {"demo": "command"}, "doctor": {"wakeword": "doctor"}}
