# SPDX-License-Identifier: MIT
"""The wake words of `ethosu demo wakeword`.

words.py   the models of pymicro-wakeword, their rule, and what the reference computes
speech.py  text or a WAV file becomes 16 kHz samples
listen.py  runs on the board: samples in, a line per inference out
"""
