# SPDX-License-Identifier: MIT
"""The module inside MicroPython's own ports, with their compiler flags and C libraries.

All sources are compiled for a Cortex-M55 with each port's flags. For ports whose makefile is
part of MicroPython's source, the test looks up each flag there, to keep the list up to date.
"""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from host_tests.kit import sharing
from host_tests.modules.ethosu.driver import cbuild

GCC = ["arm-none-eabi-gcc", "-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard"]
WARNINGS = "-Wall -Werror -Wdouble-promotion"
SINGLE = "-fsingle-precision-constant"
PORTS = {
    "stm32/Makefile": f"{WARNINGS} -Wpointer-arith -Wfloat-conversion -std=gnu99 {SINGLE}",
    "mimxrt/Makefile": f"{WARNINGS} -Wfloat-conversion -std=c99 {SINGLE}",
    "alif/alif.mk": f"{WARNINGS} -Wfloat-conversion -std=c99 {SINGLE}",
    "nrf/Makefile": f"{WARNINGS} -std=c11 {SINGLE}",
    "webassembly/Makefile": f"{WARNINGS} -Wfloat-conversion -std=c99",
    "zephyr/CMakeLists.txt": "-std=gnu99",
    "rp2/CMakeLists.txt": "-Wall -Werror",
}
# Warnings are cumulative, also those that a port's SDK adds: -Wformat (Zephyr), -Wextra (ESP-IDF).
# The oldest standard is the strictest; the firmware itself uses a new one.
STRICTEST = (
    f"{WARNINGS} -Wpointer-arith -Wfloat-conversion -Wformat -Wformat-security "
    "-Wno-format-zero-length -Wextra -Wno-unused-parameter -Wno-sign-compare "
    f"-std=c99 {SINGLE}"
)
KERNELS = "runtime/kernels"
FOLDERS = (
    "driver",
    "runtime",
    "runtime/describe",
    "runtime/executorch",
    KERNELS,
    "audio",
    "image",
    "minimal",
    "binding",
)
# The compiler computes the first one itself; docs/upstream_port.md defines the others.
NOT_OF_LIBM = {"fabsf", "fmaxf", "fminf"}
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# A port's own config, with one option changed.
CONFIG = """#include "{firmware}/mpconfigport.h"
#undef MICROPY_{option}
#define MICROPY_{option} ({value})
"""
# Floats as in most ports.
FLOATS = ("FLOAT_IMPL", "MICROPY_FLOAT_IMPL_FLOAT")
# Prints the flags that micropython.mk adds to a port.
PRINT_FLAGS = "include $(USERMOD_DIR)/micropython.mk\n$(info $(CFLAGS_USERMOD))\nall: ;\n"


@pytest.fixture(scope="module")
def module(repo):
    return repo / "modules/ethosu"


@pytest.fixture(scope="module")
def micropython(repo):
    """MicroPython's source, as used by the firmware."""
    fetch = ["python3", repo / "firmware/fetch_micropython.py"]
    done = subprocess.run(fetch, check=True, capture_output=True, text=True)
    return Path(done.stdout.strip())


def compile_all(flags, sources):
    """The compiler's diagnostics for all these sources."""
    command = [*GCC, *flags, "-ffp-contract=off", "-fsyntax-only", *sources]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def binding_flags(repo, micropython, folder, option=FLOATS):
    """Include paths of the Python module, including the firmware's list of names."""
    firmware = repo / "firmware"
    config = folder / "config.h"
    config.write_text(CONFIG.format(firmware=firmware, option=option[0], value=option[1]))
    board = repo / "build/firmware/MPS3_AN547/board"
    paths = (repo / "build/firmware/MPS3_AN547/common", board, firmware, repo, micropython)
    cmsis = micropython / "lib/cmsis/inc"
    return [
        f'-DMP_CONFIGFILE="{config}"',
        *(f"-I{path}" for path in paths),
        *("-isystem", cmsis),
    ]


def includes(module):
    return [
        f"-I{module / folder}"
        for folder in (".", "audio", "image", "driver", "driver/include", "runtime", "binding")
    ]


def test_it_compiles_with_the_flags(repo, module, micropython, tmp_path):
    sources = [path for folder in FOLDERS for path in sorted((module / folder).glob("*.c"))]
    assert len(sources) > 80
    paths = [*includes(module), *binding_flags(repo, micropython, tmp_path)]
    assert compile_all([*STRICTEST.split(), *paths], sources) == ""


def test_the_ports_still_have_these_flags(micropython):
    texts = {port: (micropython / "ports" / port).read_text() for port in PORTS}
    flags = [(port, flag) for port, row in PORTS.items() for flag in row.split()]
    assert [(port, flag) for port, flag in flags if flag not in texts[port]] == []


@pytest.mark.parametrize(
    ("option", "value", "error"),
    [
        ("FLOAT_IMPL", "MICROPY_FLOAT_IMPL_NONE", "needs floats: set MICROPY_FLOAT_IMPL"),
        ("SCHEDULER_STATIC_NODES", "0", "calls: set MICROPY_SCHEDULER_STATIC_NODES to 1"),
    ],
)
def test_a_port_without_a_feature_gets_an_error(
    option, value, error, repo, module, micropython, tmp_path
):
    flags = [*includes(module), *binding_flags(repo, micropython, tmp_path, (option, value))]
    assert error in compile_all(flags, [module / "binding/modethosu.c"])


def test_headers_of_the_module_hide_no_others(module, tmp_path):
    """User module include paths apply to the whole port, and many have a header `pin.h`."""
    (tmp_path / "port").mkdir()
    (tmp_path / "port/pin.h").write_text("int the_port;\n")
    (tmp_path / "generated.c").write_text('#include <error.h>\n#include "pin.h"\n')
    (tmp_path / "flags.mk").write_text(PRINT_FLAGS)
    make = ["make", "-s", "-f", tmp_path / "flags.mk", f"USERMOD_DIR={module}", "BUILD="]
    flags = shlex.split(sharing.run(make))
    command = ["gcc", "-E", *flags, f"-I{tmp_path / 'port'}", tmp_path / "generated.c"]
    found = sharing.run(command)
    assert "error_at_line" in found and "int the_port;" in found
    assert f"{module}/binding" in flags


def test_no_header_of_the_c_library_is_found_instead_of_ours(module):
    """A port's compiler looks in the file's own folder, then in the library's: `-idirafter`."""
    sources = [path for folder in FOLDERS for path in (module / folder).glob("*.[ch]")]
    named = {
        name
        for path in sources
        for name in re.findall(r'^#include "(.+)"', path.read_text(), re.MULTILINE)
        if not (path.parent / name).exists()
    }
    assert "ethosu_ext.h" in named
    questions = "".join(f"#if __has_include(<{name}>)\n{name}\n#endif\n" for name in named)
    for compiler in ("gcc", "arm-none-eabi-gcc"):
        command = [compiler, "-E", "-P", "-x", "c", "-"]
        done = subprocess.run(command, input=questions, capture_output=True, text=True, check=True)
        assert done.stdout.split() == []


def test_it_calls_no_function_that_micropython_s_libm_lacks(module, micropython):
    """A core with a floating-point unit has instructions for some, so its link does not show it."""
    command = ["arm-none-eabi-gcc", "-std=c11", "-E", "-P", "-include", "math.h", "-x", "c", "-"]
    header = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    ).stdout
    declared = set(re.findall(r"\b(\w+) \((?:float|double)\b", header))
    libm = "".join(path.read_text() for path in (micropython / "lib/libm").glob("*.c"))
    provided = set(re.findall(r"^\s*float (\w+)\(", libm, re.MULTILINE)) | NOT_OF_LIBM
    assert {"rintf", "sqrtf"} <= declared and "sqrtf" in provided
    lacking = {
        (name, path.name)
        for folder in FOLDERS
        for path in (module / folder).glob("*.[ch]")
        for name in re.findall(r"\b(\w+)\(", COMMENT.sub("", path.read_text()))
        if name in declared - provided
    }
    assert lacking == set()


def test_it_links_with_a_mathematical_library_of_floats(repo, module, micropython, tmp_path):
    """MicroPython's own single-precision libm and string functions, the only ones in many ports."""
    objects = cbuild.firmware_objects()
    sources = [*(micropython / "lib/libm").glob("*.c")]
    sources += [micropython / "shared/libc/string0.c", tmp_path / "board.c"]
    (tmp_path / "board.c").write_text(
        '#include "ethosu_board.h"\n'
        'const struct ethosu_board ethosu_board = {.name = "none"};\n'
        "uint32_t ethosu_ext_board_ticks_ms(void) { return 0; }\n"
        "void ethosu_ext_board_idle(const volatile uint32_t *flag, uint64_t at_most_ms)\n"
        "{ (void)flag; (void)at_most_ms; }\n"
    )
    sources = [path for path in sources if path.name != "thumb_vfp_sqrtf.c"]
    flags = ["-std=gnu11", "-Os", "-w", "-ffp-contract=off", *includes(module)]
    flags += [f"-I{micropython / folder}" for folder in ("lib/libm", ".")]
    flags += [f"-I{repo / 'firmware'}"]
    flags += binding_flags(repo, micropython, tmp_path)
    command = [*GCC, *flags, "-nostdlib", "-nostartfiles", "-Wl,-e,0", *sources, *objects]
    done = subprocess.run(
        [*command, "-lgcc", "-o", tmp_path / "linked"], capture_output=True, text=True, check=False
    )
    missing = set(re.findall(r"undefined reference to `(\w+)'", done.stderr))
    assert (missing, done.returncode) == (set(), 0), done.stderr
