# SPDX-License-Identifier: MIT
"""What the driver costs, in instructions of a Cortex-M55 counted by stock QEMU."""

from pathlib import Path

import numpy as np
import pytest

from modules.ethosu.driver import cbuild
from modules.ethosu.driver.streams import Call, npu_calls

TARGET = Path(__file__).parent / "target"

# One inference of a prepared program: start, interrupt handler, wait.
INFERENCE_MOST = 310
VERIFY_PER_WORD_MOST = 30


def model_header(call: Call) -> str:
    """The header that target/cost.c includes: payload and sizes, three bases as TFLM gives."""
    words = ", ".join(f"0x{word:X}u" for word in np.frombuffer(call.payload, np.uint32))
    sizes = ", ".join(str(size) for size in call.sizes[:3])
    return f"#define COST_PAYLOAD {words}\n#define COST_SIZES {sizes}\n"


@pytest.fixture(scope="module")
def costs(tmp_path_factory, compiled, small_models) -> dict[str, int]:
    """The lines that target/cost.c prints."""
    program = tmp_path_factory.mktemp("cost") / "cost.elf"
    (call,) = npu_calls(compiled(small_models["small_cnn"], "ethos-u55-128"))
    (program.parent / "cost_model.h").write_text(model_header(call))
    driver = cbuild.REPO / "modules/ethosu/driver"
    cpu = ["-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard"]
    flags = ["-std=c11", "-O2", "-ffunction-sections", "-Wall", "-Wextra", "-Werror"]
    paths = [f"-I{path}" for path in (driver, driver.parent, program.parent)]
    script = ["-nostartfiles", "-specs=nano.specs", "-Wl,--gc-sections", "-T", TARGET / "cost.ld"]
    sources = [TARGET / "cost.c", *sorted(driver.glob("*.c"))]
    cbuild.run(["arm-none-eabi-gcc", *cpu, *flags, *paths, *script, "-o", program, *sources])
    machine = ["-M", "mps3-an547", "-display", "none", "-serial", "none", "-monitor", "none"]
    semihosting = ["-chardev", "stdio,id=out", "-semihosting-config", "enable=on,chardev=out"]
    output = cbuild.run(
        ["qemu-system-arm", *machine, *semihosting, "-icount", "shift=0", "-kernel", program]
    )
    lines = (line.split() for line in output.splitlines())
    return {name: int(number) for name, number in lines}


def test_an_inference_costs_few_instructions(costs, capsys) -> None:
    """All that the driver adds to one inference, reset of the NPU at power-up included."""
    with capsys.disabled():
        print(f"\ndriver, instructions on Cortex-M55 at -O2: {costs}")
    assert costs["failed"] == 0
    assert costs["inference_power_kept"] < costs["inference"] <= INFERENCE_MOST


def test_verifying_costs_few_instructions_per_word(costs) -> None:
    """The verifier is linear and cheap; it runs once per load."""
    assert costs["verify_per_word_x10"] <= 10 * VERIFY_PER_WORD_MOST
