# SPDX-License-Identifier: MIT
"""Fixtures for the tests of the CPU kernels."""

from pathlib import Path

import pytest

from host_tests.kit import sharing
from host_tests.modules.ethosu.driver import cbuild

HERE = Path(__file__).parent

# Runtime files that differ between builds with and without assertions, with some kernels only, or
# with CMSIS-NN's scratch.
CHANGING = ("shared/plan_reader.c", "shared/kernel.c", "registry.c")
CMSIS_NN = ("conv.c", "depthwise_conv.c", "fully_connected.c", "transpose_conv.c")
CHANGING += tuple(f"weighted/{name}" for name in (*CMSIS_NN, "cmsis_nn_scratch.c"))


@pytest.fixture(scope="session")
def build_cases(repo, build_dir):
    """Build run_cases.c and the runtime with sanitizers: `build_cases("-DSOMETHING")`."""
    sharing.make("tools/sim_host", "SANITIZE=address")
    module = repo / "modules/ethosu"

    def build(*flags: str) -> Path:
        changed = [module / "runtime/kernels" / name for name in CHANGING] if flags else []
        folders = (
            *(module / name for name in ("runtime", "executorch", "driver")),
            repo / "tools/sim_host",
        )
        sources = {path for folder in folders for path in folder.rglob("*.c")}
        sources -= set((module / "driver/board/defaults").glob("*.c"))
        objects = [
            build_dir / "sim_host/address" / path.relative_to(repo).with_suffix(".o")
            for path in sorted(sources - set(changed))
        ]
        command = [
            *cbuild.sanitized("address", *flags),
            *changed,
            HERE / "run_cases.c",
            *objects,
            build_dir / "npu_sim/address/libnpu_sim.a",
            *("-lm", "-o"),
        ]
        return sharing.program("run_cases", command)

    return build


@pytest.fixture(scope="session")
def run_cases(build_cases) -> Path:
    """Build the program with assertions."""
    return build_cases("-DETHOSU_ENABLE_ASSERTS")
