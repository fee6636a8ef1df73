# SPDX-License-Identifier: MIT
"""Facts of a model file that decide which runtime takes it."""

from __future__ import annotations

from dataclasses import dataclass

from ..compile.plan.kernels import RENAMING
from ..model import BUNDLE, TFLITE, ModelFile, ProgramDescription, Tensor, vela_versions
from ..model.kinds import other_accelerator
from ..sim import fit

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Subject:
    """What other runtimes look at.

    scratch: bytes of the NPU's arena, the largest of all NPU operators; tensors: of a file as
    trained, inputs and outputs of its largest operator; state: bytes of the variables of a
    streaming model; planned: bytes of planned tensors of a program; cpu: names of operators without
    the NPU; rejected: why LiteRT rejected it when it was run.
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
    tensors: int = 0
    state: int = 0

    @property
    def arena(self) -> int:
        """Bytes that the arena of TFLite Micro has at least: it keeps the variables there, too."""
        return max(self.scratch, self.tensors) + self.state

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
    """The facts of a file."""
    description = file.description
    program = description if isinstance(description, ProgramDescription) else None
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
        scratch=max((each.scratch_bytes for each in description.npu_operators), default=0),
        planned=program.planned_bytes if program else 0,
        tensors=0 if description.compiled else _largest(file),
        state=_state(file) if file.kind is TFLITE else 0,
    )


def _state(file: ModelFile) -> int:
    """Of all variables, each found by its handle."""
    variables = {
        operator.inputs[0]: file.graph.tensors[operator.outputs[0]].size
        for operator in file.graph.operators
        if operator.name == "READ_VARIABLE"
    }
    return sum(variables.values())


def _largest(file: ModelFile) -> int:
    """Of the largest operator; one that only renames a tensor may work in place."""
    operators = [each for each in file.graph.operators if each.name not in RENAMING]
    return max((fit.tensor_bytes(file, each) for each in operators), default=0)
