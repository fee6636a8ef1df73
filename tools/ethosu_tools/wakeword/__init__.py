# SPDX-License-Identifier: MIT
"""The wake-word demo, step by step in the order of the data.

speech    text or a WAV file becomes 16 kHz samples
words     the wake words that the demo knows, and what their manifests say
features  samples become the 40 numbers per 10 ms that the models listen to
listen    the script that runs on the board: features in, one line per inference out
stream    puts all that on a board (or beside the simulated NPU) and hands out its lines
plot      draws the lines while they come
"""
