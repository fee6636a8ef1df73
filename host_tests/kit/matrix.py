# SPDX-License-Identifier: MIT
"""Selects boards and QEMUs for tests in `make test`; other pairs are slow tests.

A fault can be in a driver, in the emulated device, in a board's numbers, or in the combination of
plugin and QEMU. So each device is tested on one board that has the device, and each board and QEMU
machine by a few comprehensive tests (test_every_board.py).
"""

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from pathlib import Path

import pytest
from ethosu_tools.link.emulator.qemu import find_qemu

from host_tests.kit import needs
from host_tests.tools.qemu_plugin import releases


def one_of_each(names: Sequence[str], kind: Callable[[str], Hashable]) -> set[str]:
    """Return the first name of each kind."""
    first: dict[Hashable, str] = {}
    for name in names:
        first.setdefault(kind(name), name)
    return set(first.values())


def cases(names: Sequence[str], quick: Collection[str]) -> list[object]:
    """Return all names as parameters, marked slow unless they are quick."""
    return [
        pytest.param(name, marks=[] if name in quick else pytest.mark.slow, id=name)
        for name in names
    ]


def on_each_qemu(
    names: Sequence[str], installed: Collection[str], newest: Collection[str]
) -> list[object]:
    """Return parameters for `each_qemu` and a board; tells which pairs are quick."""
    quick = {releases.INSTALLED: installed, releases.NEWEST: newest}
    return [
        pytest.param(
            qemu,
            name,
            marks=[] if name in quick.get(qemu, ()) else pytest.mark.slow,
            id=f"{qemu}-{name}",
        )
        for qemu in releases.ALL
        for name in names
    ]


# For tests of the plugin's own code, which does not depend on QEMU's release.
others_are_slow = pytest.mark.parametrize(
    "qemu", cases(releases.ALL, {releases.INSTALLED}), indirect=True, scope="session"
)


def use_qemu(
    request: pytest.FixtureRequest, record: Callable[[str, object], None]
) -> Iterator[None]:
    """Make the tools run the QEMU of this fixture's parameter, one of releases.ALL."""
    program = needs.qemu(request.param)
    with pytest.MonkeyPatch.context() as patch:
        if request.param != releases.INSTALLED:
            patch.setenv("ETHOSU_QEMU", str(program))
        version = ".".join(map(str, releases.version(Path(find_qemu()))))
        record(f"qemu {request.param}", f"QEMU {version}")
        yield
