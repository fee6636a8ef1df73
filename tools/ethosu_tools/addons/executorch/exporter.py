# SPDX-License-Identifier: MIT
"""Exports a PyTorch model; export.py runs this program in the Python that has ExecuTorch.

It imports only torch and executorch, nothing of this package, reads its options as JSON from the
first argument, and writes the program.
"""

import json
import runpy
import sys
from pathlib import Path
from typing import Any


def read_model(torch: Any, path: Path) -> dict[str, Any]:
    """Read the model, its inputs, calibration samples, and values of constant methods."""
    if path.suffix == ".pt2":
        program = torch.export.load(str(path))
        inputs, _ = program.example_inputs or ((), {})
        return {
            "model": program.module(check_guards=False),
            "inputs": tuple(inputs),
            "calibration": [],
            "constants": {},
            "notes": dynamic(program),
        }
    names = runpy.run_path(str(path))
    missing = [name for name in ("model", "inputs") if name not in names]
    if missing:
        raise SystemExit(f"{path} does not define {' and '.join(missing)}")
    model = names["model"]
    model.eval()
    return {
        "model": model,
        "inputs": tuple(names["inputs"]),
        "calibration": [tuple(each) for each in names.get("calibration", [])],
        "constants": dict(names.get("constants", {})),
        "notes": [],
    }


def dynamic(program: Any) -> list[str]:
    """Note each input of an exported model with a dynamic shape, which is fixed on the board.

    Guards are left out of modules (check_guards=False), as ExecuTorch's own passes need it: PyTorch
    does that by itself only for callers with "executorch" in their path.
    """
    signature = program.graph_signature
    notes = []
    for node in program.graph.nodes:
        if node.op == "placeholder" and node.name in signature.user_inputs:
            shape = list(getattr(node.meta.get("val"), "shape", ()))
            if any(not isinstance(size, int) for size in shape):
                text = ", ".join(map(str, shape))
                notes.append(
                    f"{node.name} has a dynamic shape, [{text}]; the program takes the example's"
                )
    return notes


def to_channels_last(torch: Any, tensors: tuple[Any, ...]) -> tuple[Any, ...]:
    """Convert images among the tensors to channels-last format."""
    return tuple(
        each.to(memory_format=torch.channels_last)
        if isinstance(each, torch.Tensor) and each.dim() == 4
        else each
        for each in tensors
    )


class State:
    """The initial values of a module's buffers."""

    def __init__(self, model: Any) -> None:
        """Save the present values."""
        self._values = {name: each.detach().clone() for name, each in model.named_buffers()}

    def restore(self, model: Any) -> None:
        """Restore the values in this module, or in another one with the same names."""
        for path, module in model.named_modules():
            for own, _ in list(module.named_buffers(recurse=False)):
                value = self._values.get(f"{path}.{own}" if path else own)
                if value is not None:
                    setattr(module, own, value.clone())

    def inputs(self, signature: Any) -> list[str]:
        """Name the graph's buffers that it changes and that do not begin with zeros.

        ExecuTorch stores no values of other buffers in the program.
        """
        changed = set(signature.buffers_to_mutate.values())
        return [
            name
            for name, buffer in signature.inputs_to_buffers.items()
            if buffer in changed and self._values[buffer].any()
        ]


def run(torch: Any, model: Any, samples: list[tuple[Any, ...]]) -> list[list[Any]]:
    """Run a module on samples, in order; returns the resulting tensors as arrays."""
    with torch.no_grad():
        return [arrays(torch, model(*sample)) for sample in samples]


def arrays(torch: Any, values: Any) -> list[Any]:
    """Copy the tensors in a structure of values to NumPy arrays."""
    found = [x for x in torch.utils._pytree.tree_leaves(values) if isinstance(x, torch.Tensor)]
    # NumPy has no bfloat16.
    found = [x.float() if x.dtype == torch.bfloat16 else x for x in found]
    return [x.detach().contiguous().clone().numpy() for x in found]


def integer_ends(edge: Any) -> Any:
    """Make the inputs and outputs integers that the graph quantises or dequantises.

    ExecuTorch's passes count the user's inputs, but all outputs of the graph: the new values of
    buffers come first.
    """
    from executorch.exir.passes.quantize_io_pass import QuantizeInputs, QuantizeOutputs

    program = edge.exported_program()
    graph, signature = program.graph_module.graph, program.graph_signature
    users = {node.name: list(node.users) for node in graph.nodes if node.op == "placeholder"}
    inputs = [
        number
        for number, name in enumerate(signature.user_inputs)
        if [is_call(node, "quantize_per_tensor") for node in users.get(name, ())] == [True]
    ]
    results = graph.output_node().args[0]
    outputs = [
        number
        for number, (spec, node) in enumerate(zip(signature.output_specs, results, strict=True))
        if spec.kind.name == "USER_OUTPUT" and is_call(node, "dequantize_per_tensor")
    ]
    return edge.transform([QuantizeInputs(edge, inputs), QuantizeOutputs(edge, outputs)])


def is_call(node: Any, name: str) -> bool:
    """Whether a node of a graph calls this operator of quantized_decomposed."""
    return f"quantized_decomposed.{name}.default" in str(getattr(node, "target", ""))


def export(options: dict[str, Any]) -> None:
    """Quantise, lower for the NPU, and write the program and PyTorch's results for the samples."""
    import numpy as np
    import torch
    from executorch.backends.arm.ethosu import EthosUCompileSpec, EthosUPartitioner
    from executorch.backends.arm.quantizer import (
        EthosUQuantizer,
        get_symmetric_quantization_config,
    )
    from executorch.exir import (
        EdgeCompileConfig,
        ExecutorchBackendConfig,
        to_edge_transform_and_lower,
    )
    from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    given = read_model(torch, Path(options["model"]))
    model, inputs = given["model"], given["inputs"]
    samples = given["calibration"] or [inputs]
    if options["channels_last"]:
        inputs = to_channels_last(torch, inputs)
        samples = [to_channels_last(torch, sample) for sample in samples]
    spec = EthosUCompileSpec(
        options["npu"],
        system_config=options["system_config"],
        memory_mode=options["memory_mode"],
        extra_flags=options["vela"],
    )
    quantizer = EthosUQuantizer(spec)
    quantizer.set_global(get_symmetric_quantization_config())
    state = State(model)
    compared = samples[: options["compared"]]
    eager = run(torch, model, compared)
    state.restore(model)
    graph = torch.export.export(model, inputs).module(check_guards=False)
    state = State(graph)  # under the graph's names
    exported = run(torch, graph, compared)
    state.restore(graph)
    prepared = prepare_pt2e(graph, quantizer)
    for sample in samples:
        prepared(*sample)
    state.restore(prepared)
    converted = convert_pt2e(prepared)
    reference = run(torch, converted, compared)
    state.restore(converted)
    quantised = torch.export.export(converted, inputs)
    edge = to_edge_transform_and_lower(
        quantised,
        partitioner=[EthosUPartitioner(spec)],
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
        constant_methods=given["constants"] or None,
    )
    if options["integer_io"]:
        edge = integer_ends(edge)
    initial = InitializedMutableBufferPass(state.inputs(edge.exported_program().graph_signature))
    config = ExecutorchBackendConfig(passes=[initial])
    Path(options["output"]).write_bytes(edge.to_executorch(config).buffer)
    columns = {
        "input": [arrays(torch, sample) for sample in compared],
        "eager": eager,
        "exported": exported,
        "quantised": reference,
    }
    rows = {}
    for name, steps in columns.items():
        for number, column in enumerate(zip(*steps, strict=True)):
            rows[f"{name}{number}"] = np.stack(column)
    rows["notes"] = np.array(given["notes"], dtype=str)
    np.savez(options["samples"], **rows)  # type: ignore[arg-type]  # NumPy's stub


if __name__ == "__main__":
    export(json.loads(sys.argv[1]))
