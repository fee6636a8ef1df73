# SPDX-License-Identifier: MIT
"""Merges models into one file with a signature for each, as converters do."""

from __future__ import annotations

from typing import Any

from . import writer
from .writer import schema


def tree_of(model: bytes) -> Any:
    """Parse the model into objects that can be changed."""
    return schema.ModelT.InitFromObj(schema.Model.GetRootAs(model, 0))


def merge(models: dict[str, bytes]) -> bytes:
    """Write the subgraphs of all models to one file, with a signature for each main subgraph.

    All main subgraphs come first, as in files that AI Edge's converters write.
    """
    merged = schema.ModelT()
    merged.version, merged.description = 3, "several signatures"
    merged.operatorCodes, merged.buffers, merged.signatureDefs = [], [], []
    mains, others = [], []
    trees = {name: tree_of(model) for name, model in models.items()}
    behind = len(trees)
    for name, tree in trees.items():
        code, buffer = len(merged.operatorCodes), len(merged.buffers)
        for graph in tree.subgraphs:
            for tensor in graph.tensors:
                tensor.buffer += buffer
            for operator in graph.operators:
                operator.opcodeIndex += code
                if operator.builtinOptionsType == schema.BuiltinOptions.CallOnceOptions:
                    operator.builtinOptions.initSubgraphIndex += behind - 1
        merged.operatorCodes += tree.operatorCodes
        merged.buffers += tree.buffers
        mains.append(tree.subgraphs[0])
        others += tree.subgraphs[1:]
        behind += len(tree.subgraphs) - 1
        merged.signatureDefs.append(signature(name, len(mains) - 1, tree.subgraphs[0]))
    merged.buffers.insert(0, schema.BufferT())
    for graph in mains + others:
        for tensor in graph.tensors:
            tensor.buffer += 1
    merged.subgraphs = mains + others
    return writer.packed(merged)


def signature(name: str, number: int, graph: Any) -> Any:
    """Make a signature of the subgraph with this number."""
    made = schema.SignatureDefT()
    made.signatureKey, made.subgraphIndex = name, number
    made.inputs, made.outputs = [], []
    for ends, tensors, kind in (
        (made.inputs, graph.inputs, "in"),
        (made.outputs, graph.outputs, "out"),
    ):
        for place, tensor in enumerate(tensors):
            end = schema.TensorMapT()
            end.name, end.tensorIndex = f"{kind}{place}", tensor
            ends.append(end)
    return made
