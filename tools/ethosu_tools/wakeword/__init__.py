# SPDX-License-Identifier: MIT
"""The wake-word demo, in the order of the data.

words     the wake words that the demo knows, and what their manifests say
speech    text or a WAV file becomes 16 kHz samples
features  samples become the 40 numbers per 10 ms that the models listen to
listen    the script that runs on the board: features in, one line per inference out
stage     runs it, on a board or here with the simulated NPU, and returns its lines
results   reads the lines, and compares them with the reference
plot      shows the lines in a terminal while they come
picture   draws sound and probability for a page
"""
