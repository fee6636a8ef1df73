# SPDX-License-Identifier: MIT
"""Facts of a model file that decide which runtime takes it."""

from __future__ import annotations

from dataclasses import dataclass

from ..compile.plan.kernels import RENAMING
from ..model import BUNDLE, TFLITE, ModelFile, ProgramDescription, Tensor, vela_versions
from ..model.kinds import other_accelerator
from . import rules

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Subject:
    """The facts that other runtimes look at.

    scratch: bytes of the NPU's arena, the largest of all NPU operators; state: bytes of a streaming
    model's variables; arena: bytes that TFLite Micro needs at least; planned: bytes of a program's
    planned tensors; cpu: operators left to the CPU; rejected: why LiteRT refused to run the file.
    """

    name: str
    kind: str
    program: bool
    compiled: bool
    npu: str | None
    vela: str | None
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    cpu: tuple[str, ...]
    scratch: int
    planned: int
    rejected: str = ""
    state: int = 0
    arena: int = 0

    @property
    def input_shapes(self) -> list[Shape]:
        """Shapes of the inputs."""
        return [tuple(tensor.shape) for tensor in self.inputs]

    @property
    def output_shapes(self) -> list[Shape]:
        """Shapes of the outputs."""
        return [tuple(tensor.shape) for tensor in self.outputs]

    @property
    def dtypes(self) -> list[str]:
        """Types of the inputs and outputs."""
        return [tensor.dtype for tensor in (*self.inputs, *self.outputs)]

    @property
    def what(self) -> str:
        """The file in one line."""
        text = self.kind
        if self.npu:
            text += f", compiled for {self.npu}"
        elif self.compiled:
            text += ", compiled for the CPU alone"
        elif other := other_accelerator(self.cpu):
            text += f", compiled for {other[0]}"
        else:
            text += ", as trained: not compiled for an NPU"
        return f"{text}{self._origin()}"

    def _origin(self) -> str:
        if self.vela is None:
            return " by a Vela that left no version" if self.npu and not self.program else ""
        if self.vela in vela_versions.EXACT:
            trust = "a release whose results equal TFLite's in this project's tests"
        elif self.vela in vela_versions.TESTED:
            trust = "a release some of whose operators differ from TFLite's"
        else:
            trust = "whose results were never compared with TFLite's"
        return f" by Vela {self.vela}, {trust}"


def of(file: ModelFile) -> Subject:
    """Collect the facts of a file."""
    description = file.description
    program = description if isinstance(description, ProgramDescription) else None
    scratch = max((each.scratch_bytes for each in description.npu_operators), default=0)
    sizes = {"scratch": scratch, "arena": scratch} if program else _sizes(file)
    kind = "an ExecuTorch program" + (" with test cases" if file.kind is BUNDLE else "")
    return Subject(
        name=str(file),
        kind="a TensorFlow Lite model" if file.kind is TFLITE else kind,
        program=program is not None,
        compiled=description.compiled,
        npu=description.npu,
        vela=file.vela_version,
        inputs=description.inputs,
        outputs=description.outputs,
        cpu=tuple(description.cpu_operators),
        planned=program.planned_bytes if program else 0,
        state=sizes.get("state", 0),
        scratch=sizes["scratch"],
        arena=sizes["arena"],
    )


def _sizes(file: ModelFile) -> dict[str, int]:
    graph = file.graph
    tensors = [(tensor.size, tensor.constant) for tensor in graph.tensors]
    operators = [(each.name, each.on_npu, each.inputs, each.outputs) for each in graph.operators]
    return rules.sizes(tensors, operators, RENAMING)
