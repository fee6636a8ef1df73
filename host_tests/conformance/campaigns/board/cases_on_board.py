# SPDX-License-Identifier: MIT
"""Board part of the campaigns (MicroPython): inputs and outputs of the models in its ROM."""

STEPS = 4


def rows(name):
    """Raw values of each step."""
    with open("/rom/" + name, "rb") as file:
        data = file.read()
    size = len(data) // STEPS
    return [bytearray(data[step * size : (step + 1) * size]) for step in range(STEPS)]
