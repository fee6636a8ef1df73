# SPDX-License-Identifier: MIT
"""Host tools of MicroPython on boards with an Arm Ethos-U NPU, and `Model` for Python programs."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .python_model import Model

__all__ = ["Model"]


def __getattr__(name: str) -> Any:
    """Load `Model` on first use: it imports modules that the command does not need."""
    if name == "Model":
        from .python_model import Model

        return Model
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
