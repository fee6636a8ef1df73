# SPDX-License-Identifier: MIT
"""The wake words of `ethosu demo wakeword`.

keywords.py  the models of pymicro-wakeword, their detection rule, and the reference result
speech.py    converts text or a WAV file to 16 kHz samples
listen.py    runs on the board: samples in, a line per inference out
"""

OFFERS = {"command": {"demo": "command"}, "doctor": {"wakeword": "doctor"}}
