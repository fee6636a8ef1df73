# SPDX-License-Identifier: MIT
"""Host tools of MicroPython on boards with an Arm Ethos-U NPU, and classes for Python programs.

The packages below are rooms, the higher ones using the lower ones: base, model, boards, sim,
compile, link, answers, debug, commands; then testing and addons.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .base import errors
    from .link.board import Board
    from .link.open import open_runner
    from .link.python_model import Model
    from .model import arrays
    from .sim.simulation import Simulation

__all__ = ["Board", "Model", "Simulation", "arrays", "errors", "open_runner"]

# Loaded on first use, because each imports modules that the command does not need.
_PLACES = {
    "Board": "link.board",
    "Model": "link.python_model",
    "Simulation": "sim.simulation",
    "arrays": "model",
    "errors": "base",
    "open_runner": "link.open",
}


def __getattr__(name: str) -> Any:
    """Import a name of `__all__` from the package that defines it."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = importlib.import_module(f".{_PLACES[name]}", __name__)
    if hasattr(room, name):
        return getattr(room, name)
    return importlib.import_module(f".{name}", room.__name__)
