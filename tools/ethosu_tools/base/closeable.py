# SPDX-License-Identifier: MIT
"""The base class of objects that have to be closed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Closeable(ABC):
    """A context manager that closes itself at the end of its `with` statement."""

    @abstractmethod
    def close(self) -> None:
        """Release all resources; may be called repeatedly."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
