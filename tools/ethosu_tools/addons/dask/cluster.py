# SPDX-License-Identifier: MIT
"""Runs the blocks of a data set on a Dask cluster, whose workers need these tools, too."""

from collections.abc import Iterator, Sequence

from ...answers.validate.data import DataSet
from ...answers.validate.results import Result
from ...answers.validate.work import BLOCK, Settings, run_block
from ...base import other_python
from ...base.errors import InputError, SetupError, ToolError


def results(
    address: str, settings: Settings, data: DataSet, starts: Sequence[int]
) -> Iterator[tuple[int, Result]]:
    """Run these blocks on the cluster of the scheduler at `address`, and yield them as they end."""
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise SetupError(
            f"--scheduler needs Dask: {other_python.install('dask')}, here and at the workers"
        ) from None
    try:
        client = Client(address)
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler at {address}: {error}") from None
    with client:
        scattered = client.scatter(settings, broadcast=True)
        futures = {
            client.submit(
                run_block, scattered, start, data.block(start, start + BLOCK), pure=False
            ): start
            for start in starts
        }
        for future in as_completed(futures):
            failure = future.exception()
            if isinstance(failure, ToolError):
                raise failure
            yield futures[future], future.result()
