# SPDX-License-Identifier: MIT
"""A loaded model, ready to run on the simulator, an emulated board or a real one."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence

from ..base.closeable import Closeable
from ..model import Tensor
from ..model.arrays import Array, Feed


class Runner(Closeable):
    """The common base class of runners."""

    npu: str
    inputs: Sequence[Tensor]
    outputs: Sequence[Tensor]

    @abstractmethod
    def run(self, feed: Feed) -> Iterator[list[Array]]:
        """Invoke the model step by step, keeping its state; yields the outputs of each step."""

    @abstractmethod
    def reset(self) -> None:
        """Reset the model's state."""
