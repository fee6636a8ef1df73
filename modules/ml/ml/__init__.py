# SPDX-License-Identifier: MIT
"""OpenMV's `ml` for an Ethos-U NPU, on the modules `ethosu` and `ethosu_image`.

Arrays of ulab passed as inputs are real values, whatever their dtype, as in OpenMV. (In `ethosu`,
an int8 array is raw values, so scripts for the two differ.)
"""

__all__ = ("Model", "Normalization", "preprocessing", "utils")

# The module that has each name; "" if the name is a module. Each is imported when it is used.
_PARTS = {
    "Model": "model",
    "Normalization": "preprocessing",
    "apps": "",
    "model": "",
    "postprocessing": "",
    "preprocessing": "",
    "utils": "",
}


def __getattr__(name: str):
    part = _PARTS.get(name)
    if part is None:
        raise AttributeError(f"module 'ml' has no attribute '{name}'")
    value = __import__(part or name, None, None, (name,), 1)
    if part:
        value = globals()[name] = getattr(value, name)
    return value
