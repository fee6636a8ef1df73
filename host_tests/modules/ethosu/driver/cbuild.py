# SPDX-License-Identifier: MIT
"""Builds and runs the C tests of the driver."""

import functools
import re
import subprocess
from pathlib import Path

from host_tests.kit import sharing

HERE = Path(__file__).resolve().parent
REPO = HERE.parents[3]
C = HERE / "c"
# What every C test is linked with.
FRAME = ("c/board.c", "c/check.c")
SOURCES = sorted((REPO / "modules/ethosu/driver").glob("*/*.c"))

INCLUDES = [
    f"-I{REPO / path}"
    for path in (
        "modules/ethosu",
        "modules/ethosu/driver/include",
        "modules/ethosu/runtime/include",
        "tools/sim_host",
        "tools/npu_sim",
    )
]
INCLUDES += [f"-I{C}", "-DETHOSU_IO_HEADER=<sim_host_io.h>"]
STRICT = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-g1", "-pthread"]
SANITIZE = {
    "address": [
        "-O1",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
        "-fno-omit-frame-pointer",
    ],
    "thread": ["-O1", "-fsanitize=thread", "-fno-omit-frame-pointer"],
    "coverage": ["-O0", "--coverage"],
}

# Parts with which tests count instructions of the module's C code, or link it for the target.
TARGET = ["arm-none-eabi-gcc", "-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard"]
CORTEX_M55 = [
    *TARGET,
    *("-std=c11", "-O2", "-ffunction-sections", "-ffp-contract=off"),
]


@functools.cache
def target_objects(folders: tuple[str, ...], *flags: str) -> tuple[Path, ...]:
    """Compile the sources in these folders of modules/ethosu for a Cortex-M55."""
    module = REPO / "modules/ethosu"
    paths = [f"-I{module / name}" for name in (".", "driver/include", "runtime/include")]
    sources = [path for name in folders for path in sorted(module.glob(f"{name}/*.c"))]
    warnings = ["-Wall", "-Wextra", "-Werror"]
    return tuple(sharing.objects([*CORTEX_M55, *warnings, *paths, *flags], sources))


def firmware_objects() -> list[Path]:
    """Return the objects of driver and runtime in the firmware of MPS3_AN547."""
    text = (REPO / "build/firmware/MPS3_AN547/firmware.map").read_text()
    row = r"^LOAD \S*build/(firmware/\S*/ethosu/(?:driver|runtime|executorch)/\S*\.[ao])$"
    objects = [REPO / "build" / name for name in re.findall(row, text, re.MULTILINE)]
    assert objects
    return objects


run = sharing.run


def numbers(program: Path, *options: str) -> dict[str, int]:
    """Run a program for MPS3_AN547 on QEMU; returns names and numbers that it prints."""
    machine = ["-M", "mps3-an547", "-display", "none", "-serial", "none", "-monitor", "none"]
    semihosting = ["-chardev", "stdio,id=out", "-semihosting-config", "enable=on,chardev=out"]
    output = run(["qemu-system-arm", *machine, *semihosting, *options, "-kernel", program])
    return {name: int(number) for name, number in (line.split() for line in output.splitlines())}


def refuse(command: list[str | Path]) -> str:
    """Run a command that must fail, and return its standard error."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert done.returncode != 0
    return done.stderr


# Archives of the driver, of the board it is linked with, and of the simulator, and all of them.
DRIVER = "sim_host/{}/libethosu_driver.a"
BOARD = "sim_host/{}/libsim_host.a"
SIM = "npu_sim/{}/libnpu_sim.a"
HOST = (BOARD, SIM)
ALL = (DRIVER, *HOST)


def sanitized(sanitizer: str, *flags: str) -> list[str]:
    """Return compiler and flags of a C test that includes headers of all parts."""
    return ["gcc", *STRICT, *SANITIZE[sanitizer], *INCLUDES, *flags]


def archives(sanitizer: str, *kinds: str) -> list[Path]:
    """Build the archives of sim_host; return those of `kinds`: DRIVER, BOARD, SIM."""
    sharing.make("tools/sim_host", "archives", f"SANITIZE={sanitizer}")
    return [REPO / "build" / kind.format(sanitizer) for kind in kinds]


def group(*libraries: Path) -> list[str | Path]:
    """Return the linker arguments for archives that refer to each other."""
    return ["-Wl,--start-group", *libraries, "-Wl,--end-group"]


def shared_library() -> Path:
    """Build driver and sim_host as one shared library."""
    sharing.make("tools/sim_host", "driver")
    return REPO / "build/sim_host/libethosu_driver.so"


def link(output: Path, sanitizer: str, sources: list[str], *kinds: str) -> Path:
    """Compile C tests of this folder and link them with these archives, like an application."""
    files = [HERE / source for source in sources]
    libraries = group(*archives(sanitizer, *kinds))
    command = [*sanitized(sanitizer), *files, *libraries, "-lm", "-o"]
    if sanitizer == "coverage":  # the counters are stored in the build directory
        run([*command, output])
        return output
    return sharing.program(output.name, command)


TEST = re.compile(r"^(?:DRIVER_)?TEST\((\w+)", re.MULTILINE)
TESTS = sorted(str(path.relative_to(HERE)) for path in HERE.rglob("test_*.c"))


def test_program(folder: Path, sanitizer: str) -> Path:
    """Link the driver's C tests into one program, whose argument names the test to run."""
    return link(folder / "driver", sanitizer, [*TESTS, *FRAME], *ALL)


def names(*sources: str) -> list[str]:
    """Return the names of the tests in C sources of this folder."""
    texts = [(HERE / source).read_text() for source in sources]
    return [name for text in texts for name in TEST.findall(text)]
