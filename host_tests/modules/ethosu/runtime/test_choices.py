# SPDX-License-Identifier: MIT
"""Each choice of operators and formats links in a port, and in a C program with CMake."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from host_tests.kit import sharing
from host_tests.modules.ethosu.driver import cbuild

MODULE = sharing.REPO / "modules/ethosu"
C_PARTS = ("driver/", "runtime/", "executorch/", "minimal/")
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
FOLDERS = (".", "driver/include", "runtime/include")
BOARD = """#include "ethosu_board.h"
const struct ethosu_board ethosu_board = {.name = "none"};
uint32_t ethosu_ext_board_ticks_ms(void) { return 0; }
void ethosu_ext_board_idle(const volatile uint32_t *flag, uint64_t at_most_ms)
{ (void)flag; (void)at_most_ms; }
"""


def of_make(kernels: str, programs: bool) -> tuple[list[str], list[str]]:
    """Return the C sources of a port's build, and their macros."""
    options = [f"ETHOSU_KERNELS={kernels}", *([] if programs else ["ETHOSU_WITHOUT=pte"])]
    lines = "$(info $(ETHOSU_SRC))\n$(info $(CFLAGS_USERMOD))\nall: ;\n"
    sources, flags = sharing.ask_module(lines, *options).splitlines()
    macros = [flag for flag in shlex.split(flags) if flag.startswith("-DETHOSU")]
    return [name for name in sources.split() if name.startswith(C_PARTS)], macros


@pytest.fixture(scope="module")
def of_cmake(tmp_path_factory):
    """Return CMake's sources: `of_cmake("none", False)`; a board replaces the defaults."""
    folder = tmp_path_factory.mktemp("runtime")

    def configure(kernels: str, programs: bool) -> set[str]:
        command = ["cmake", "-S", MODULE / "runtime", "-B", folder]
        command += [f"-DETHOSU_KERNELS={kernels}", f"-DETHOSU_PTE={'ON' if programs else 'OFF'}"]
        sharing.run([*command, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"])
        rows = json.loads((folder / "compile_commands.json").read_text())
        paths = {Path(row["file"]).resolve().relative_to(MODULE) for row in rows}
        return {str(path) for path in paths} - {"driver/board/defaults/defaults.c"}

    return configure


def missing(objects: list[Path], linked: Path) -> set[str]:
    """Return undefined symbols of these objects, even where no path leads to them."""
    command = [*cbuild.CORTEX_M55, "-nostartfiles", "-specs=nosys.specs", "-Wl,-e,0", *objects]
    command += ["-lm", "-o", linked]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    names = set(re.findall(r"undefined reference to `(\w+)'", done.stderr))
    assert names or done.returncode == 0, done.stderr
    return names


# Each choice of one kind at least once, and the least and the most with both of the other.
CHOICES = [
    pytest.param("none", False, id="none-no_pte"),
    pytest.param("none", True, id="none-pte"),
    pytest.param("SOFTMAX", False, id="SOFTMAX-no_pte"),
    pytest.param("SOFTMAX", True, id="SOFTMAX-pte", marks=pytest.mark.slow),
    pytest.param("all", False, id="all-no_pte", marks=pytest.mark.slow),
    pytest.param("all", True, id="all-pte"),
]


@pytest.mark.parametrize(("kernels", "programs"), CHOICES)
def test_it_links(kernels, programs, of_cmake, tmp_path):
    sources, macros = of_make(kernels, programs)
    board = tmp_path / "board.c"
    board.write_text(BOARD)
    flags = [
        *cbuild.CORTEX_M55,
        "-O0",
        *WARNINGS,
        *macros,
        *(f"-I{MODULE / name}" for name in FOLDERS),
    ]
    (base, *objects) = sharing.objects(flags, [board, *(MODULE / name for name in sources)])
    of_source = dict(zip(sources, objects, strict=True))
    library = of_cmake(kernels, programs)
    assert library <= set(sources)
    assert missing([base, *objects], tmp_path / "port") == set()
    assert missing([base, *map(of_source.get, library)], tmp_path / "program") == set()
