# SPDX-License-Identifier: MIT
"""Exports a PyTorch model with ExecuTorch; run by the Python that has it, see export.py.

Imports only torch and executorch, nothing of this package. Reads its options as JSON from the
first argument, and writes the program.
"""

import json
import runpy
import sys
from pathlib import Path
from typing import Any


def read_model(torch: Any, path: Path) -> dict[str, Any]:
    """The model, its inputs, calibration samples, and values of constant methods."""
    if path.suffix == ".pt2":
        program = torch.export.load(str(path))
        inputs, _ = program.example_inputs or ((), {})
        return {
            "model": program.module(),
            "inputs": tuple(inputs),
            "calibration": [],
            "constants": {},
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
    }


def to_channels_last(torch: Any, tensors: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same tensors, with images in channels-last format."""
    return tuple(
        each.to(memory_format=torch.channels_last) if each.dim() == 4 else each for each in tensors
    )


def export(options: dict[str, Any]) -> None:
    """Quantise, lower for the NPU, write the program."""
    import torch
    from executorch.backends.arm.ethosu import EthosUCompileSpec, EthosUPartitioner
    from executorch.backends.arm.quantizer import (
        EthosUQuantizer,
        get_symmetric_quantization_config,
    )
    from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower
    from executorch.exir.passes.quantize_io_pass import QuantizeInputs, QuantizeOutputs
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
    prepared = prepare_pt2e(torch.export.export(model, inputs).module(), quantizer)
    for sample in samples:
        prepared(*sample)
    quantised = torch.export.export(convert_pt2e(prepared), inputs)
    edge = to_edge_transform_and_lower(
        quantised,
        partitioner=[EthosUPartitioner(spec)],
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
        constant_methods=given["constants"] or None,
    )
    if options["integer_io"]:
        signature = edge.exported_program().graph_signature
        edge = edge.transform(
            [
                QuantizeInputs(edge, list(range(len(signature.user_inputs)))),
                QuantizeOutputs(edge, list(range(len(signature.user_outputs)))),
            ]
        )
    Path(options["output"]).write_bytes(edge.to_executorch().buffer)


if __name__ == "__main__":
    export(json.loads(sys.argv[1]))
