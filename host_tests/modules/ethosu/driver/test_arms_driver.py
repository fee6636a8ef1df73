# SPDX-License-Identifier: MIT
"""Measures Arm's driver 1.0 like ours, for the comparison in FIGURES.md.

This runs if ETHOSU_ARM_DRIVER_DIR names its source tree (hal_ethos_u, or ethos-u-core-driver).
"""

from pathlib import Path

import pytest

from host_tests.kit import needs, sharing
from host_tests.modules.ethosu.driver import cbuild
from host_tests.modules.ethosu.driver.streams import npu_calls
from host_tests.modules.ethosu.driver.test_cost import CLIENT_MAX, client_costs, count
from host_tests.modules.ethosu.driver.test_library import build, text_of_minimal

# These limits hold despite checks of addresses, ports, cache lines and other threads.
MAX_RATIO = 0.92


@pytest.fixture
def arms() -> Path:
    """Return the source tree of Arm's driver."""
    return needs.tree("ETHOSU_ARM_DRIVER_DIR", "Arm's driver")


@pytest.mark.parametrize("npu", CLIENT_MAX)
def test_a_client_pays_less_than_with_arms_driver(
    arms, compiled, small_models, tmp_path, capsys, npu
) -> None:
    """Reserve, invoke and release take fewer instructions and bytes than with Arm's driver."""
    (call,) = npu_calls(compiled(small_models["small_cnn"], npu))
    cmsis = sharing.micropython("--cmsis")
    family = npu.split("-")[1]
    macros = [f"-DETHOS{family.upper()}", f"-DETHOSU_ARCH={family}", "-DETHOSU_LOG_ENABLE=0"]
    macros += ["-DNDEBUG", "-DETHOSU_MACS=256"]
    device = "u85" if family == "u85" else "u55_u65"
    sources = [arms / "src/ethosu_driver.c", arms / f"src/ethosu_device_{device}.c"]
    paths = [f"-I{arms / 'include'}", f"-I{arms / 'src'}", f"-I{cmsis}"]
    own = f"-I{cbuild.REPO / 'modules/ethosu'}"  # ethosu_registers.h
    theirs = count(call, "cost_arm.c", [*macros, *paths, own, *sources])
    assert theirs["failed"] == 0
    ours = client_costs(call)["client_constant"]
    options = [f"-DETHOSU_TARGET_NPU_CONFIG={npu}", "-DETHOSU_LOG_ENABLE=OFF"]
    (tmp_path / "CMSIS/Core").mkdir(parents=True)
    (tmp_path / "CMSIS/Core/Include").symlink_to(cmsis)
    archive = build(tmp_path, *options, f"-DCMSIS_PATH={tmp_path}", source=arms)
    size = text_of_minimal(tmp_path, archive, arms / "include", *macros)
    with capsys.disabled():
        print(f"\n{npu}: Arm's driver {theirs['client']}, {size} bytes of text; ours {ours}")
    assert ours <= MAX_RATIO * theirs["client"]
