# SPDX-License-Identifier: MIT
"""Code common to all boards is compiled once."""

import re
import subprocess

import pytest

from host_tests.kit import sharing

from ..conftest import make

NAMES = ("MPS3_AN547", "NUMAKER_M55M1")


def test_a_second_board_compiles_its_own_files_only(build_dir):
    sharing.make("firmware", f"BOARD={NAMES[1]}")
    one, other = (build_dir / f"firmware/{name}" for name in NAMES)
    (other / "board/board_table.o").unlink()
    # `make test TESTS=...` passes its variables on.
    again = make(f"BOARD={NAMES[1]}", "TESTS=one -x", "JOBS=1", "SEED=2").stdout
    assert (one / "common").resolve() == (other / "common").resolve()
    assert re.findall(r"^CC .*/(\S+)$", again, re.MULTILINE) == ["board_table.c"]


@pytest.mark.parametrize("constant", ["BOARD_NAME", "BOARD_CLOCK_HZ", "BOARD_UART_BAUD"])
def test_common_code_contains_no_board_constants(repo, tmp_path, constant):
    source = tmp_path / "source.c"
    source.write_text(f'#include "mpconfigboard.h"\nconst void *p = (const void *)({constant});\n')
    command = ["arm-none-eabi-gcc", "-fsyntax-only", source]
    for folder, code in (("build/firmware/MPS3_AN547/board", 0), ("firmware/common", 1)):
        done = subprocess.run([*command, f"-I{repo / folder}"], capture_output=True, check=False)
        assert done.returncode == code, done.stderr
