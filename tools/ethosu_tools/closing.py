# SPDX-License-Identifier: MIT
"""The `with` statement of everything here that has to be closed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Closing(ABC):
    """Something to use in a `with` statement, which closes it at its end."""

    @abstractmethod
    def close(self) -> None:
        """Give back what is held; safe to call again."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
