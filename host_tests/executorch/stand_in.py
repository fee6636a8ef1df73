# SPDX-License-Identifier: MIT
"""Stands in for Arm's FVP in ExecuTorch's Arm tests: runs the test's program on our simulator.

The tests start one of FVPS with the command line of their executor_runner, which they pass by
semihosting: `executor_runner -m program.pte -o out -i i0.bin ...`. No CPU is emulated here; the
program runs in this process, with our runtime, driver and NPU. The programs with the FVPs' names
run the image itself.

The runners of the tests have limits, which decide some of their verdicts. They follow from
backends/arm/test/setup_testing.sh and examples/arm/executor_runner of pytorch/executorch: a pool
for the delegates' scratch, the operators that are built in, and memory that nobody clears. State
without initial values ("a meaningless initial state", exir/emit/_emitter.py) lies in the pool
.bss.method_allocator_sec, which Corstone-320.ld puts into DDR with NOLOAD and leaves out of the
table of what is zeroed.
"""

import json
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from ethosu_tools.base.errors import InputError, ToolError
from ethosu_tools.base.library import ffi
from ethosu_tools.model import ModelFile, Tensor
from ethosu_tools.sim.simulation import Simulation

LOG = "ETHOSU_STAND_IN_LOG"  # names the file to which each run adds a line
LIMITS = "ETHOSU_STAND_IN_LIMITS"  # with "no", runs what the tests' runners refuse
MIB = 2**20
# Memory of an FVP after its start: fill1 and fill2 of `--list-params`, as bytes.
UNCLEARED = bytes.fromhex("cfdfdfdfdfdfdfcf")


@dataclass(frozen=True)
class Fvp:
    """A machine of the tests; scratch: bytes of its runner's pool (its memory mode decides)."""

    family: str
    scratch: int


FVPS = {
    "FVP_Corstone_SSE-300_Ethos-U55": Fvp("u55", 2 * MIB),
    "FVP_Corstone_SSE-300_Ethos-U65": Fvp("u65", 64 * MIB),
    "FVP_Corstone_SSE-320": Fvp("u85", 64 * MIB),
}
_ENDS = {
    "quantized_decomposed::quantize_per_tensor",
    "quantized_decomposed::dequantize_per_tensor",
}
_BOTH = _ENDS | {
    "aten::permute_copy",
    "aten::as_strided_copy",
    "aten::mean",
    "aten::relu",
    "aten::convolution",
    "aten::_native_batch_norm_legit_no_training",
    "aten::where",
    "dim_order_ops::_to_dim_order_copy",
}
_U55 = _BOTH | {
    f"aten::{name}"
    for name in (
        *("squeeze_copy", "avg_pool2d", "gt", "expand_copy", "clamp", "mul", "index_select"),
        *("fmod", "add", "arange", "eq", "logical_not"),
    )
}
_U85 = _BOTH | {f"aten::{name}" for name in ("full_like", "bmm", "scalar_tensor", "index", "copy_")}
# Operators of the runner "with portable operators"; the other has only conversions at the ends.
OPERATORS = {
    "u55": _U55 | {"dim_order_ops::_clone_dim_order"},
    "u65": _U55 | {"dim_order_ops::_clone_dim_order"},
    "u85": _U85,
}
# ExecuTorch's core handles these in each runner.
_CORE = "executorch_prim::"


@dataclass
class Command:
    """A command line of the FVP, as the tests write it."""

    fvp: Fvp
    portable: bool
    npu: str
    folder: Path
    model: str
    output: str
    inputs: list[str] = field(default_factory=list)


def parse(name: str, words: Sequence[str]) -> Command:
    """Read the words after the program's name."""
    parameters: dict[str, str] = {}
    image = ""
    rest = iter(words)
    for word in rest:
        value = next(rest, None)
        if word not in ("-C", "-a", "--timelimit") or value is None:
            raise InputError(f"{word}: expected -C NAME=VALUE, -a IMAGE, or --timelimit SECONDS")
        if word == "-C":
            key, _, setting = value.partition("=")
            parameters[key.rpartition(".")[2]] = setting.strip("'")
        elif word == "-a":
            image = value
    try:
        line = shlex.split(parameters["semihosting-cmd_line"])
        options = list(zip(line[1::2], line[2::2], strict=True))
        single = dict(options)
        return Command(
            FVPS[name],
            "portable-ops" in image,
            f"ethos-{FVPS[name].family}-{parameters['num_macs']}",
            Path(parameters["semihosting-cwd"]),
            single["-m"],
            single["-o"],
            [value for option, value in options if option == "-i"],
        )
    except (KeyError, ValueError) as error:
        raise InputError(f"{name}: the command line lacks {error}") from None


def check_limits(command: Command, file: ModelFile) -> None:
    """Refuse programs that the tests' runner refuses."""
    methods = file.methods
    calls = file.calls(list(methods).index("forward"))
    scratch = max((call.operator.scratch_bytes for call in calls), default=0)
    if scratch > command.fvp.scratch:
        raise InputError(
            f"the runner's limit: {scratch:,} bytes of scratch, its pool has "
            f"{command.fvp.scratch:,}"
        )
    has = OPERATORS[command.fvp.family] if command.portable else _ENDS
    called = {each.name for each in methods["forward"].operators if each.on_cpu}
    lacks = sorted(name for name in called - has if not name.startswith(_CORE))
    if lacks:
        raise InputError(f"the runner's limit: it was built without {', '.join(lacks)}")


class Runner(Simulation):
    """A program in the memory of the runner."""

    def _alloc_arena(self, size: int) -> Any:
        arena = super()._alloc_arena(size)
        self._arena = ffi().buffer(arena, size)
        return arena

    def uncleared(self, file: ModelFile) -> bool:
        """Whether the program has state, all of which starts with what was in memory."""
        values = (value.content for value in file.methods["forward"].values)
        tensors = [value for value in values if isinstance(value, Tensor)]
        initial = any(tensor.buffer and tensor.constant_index for tensor in tensors)
        return bool(self.info()["keeps_state"]) and not initial

    def dirty(self, arrays: Sequence[np.ndarray]) -> None:
        """Undo the first inference's start, in which our runtime clears the state."""
        self.step(arrays)
        size = len(self._arena)
        self._arena[:] = (UNCLEARED * (size // len(UNCLEARED) + 1))[:size]


def run(command: Command, limits: bool = True) -> None:
    """Run the program; write the outputs as the runner does."""
    file = ModelFile((command.folder / command.model).read_bytes())
    method = file.methods["forward"]
    if len(command.inputs) != len(method.inputs):
        raise InputError(f"{len(command.inputs)} files for {len(method.inputs)} inputs")
    if limits:
        check_limits(command, file)
    tensors = set(method.input_tensors)
    paths = [
        command.folder / path
        for path, value in zip(command.inputs, method.inputs, strict=True)
        if value in tensors
    ]
    with Runner(file, command.npu) as simulation:
        arrays = [
            np.fromfile(path, tensor.dtype).reshape(tensor.shape)
            for path, tensor in zip(paths, simulation.inputs, strict=True)
        ]
        if limits and simulation.uncleared(file):
            simulation.dirty(arrays)
        for number, array in enumerate(simulation.step(arrays)):
            np.ascontiguousarray(array).tofile(command.folder / f"{command.output}-{number}.bin")


def main(name: str, words: Sequence[str]) -> int:
    """Exit code 0, or 1 after a line that the tests recognise as an error of the FVP."""
    if "--version" in words:
        print(f"{name}: stand-in by the simulator of micropython-ethosu")
        return 0
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    refused = None
    try:
        run(parse(name, words), limits=os.environ.get(LIMITS) != "no")
    except (ToolError, OSError, ValueError) as error:
        refused = f"{type(error).__name__}: {error}"
        print(f"E [ethosu] {refused}")
    if LOG in os.environ:
        with Path(os.environ[LOG]).open("a") as log:
            log.write(json.dumps({"test": test, "fvp": name, "refused": refused}) + "\n")
    return refused is not None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
