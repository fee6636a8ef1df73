# SPDX-License-Identifier: MIT
"""The runtime's description of a file matches another reader's, the LiteRT schema classes."""

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ethosu_tools.model import ModelFile
from ethosu_tools.model.graph import DTYPES, OTHER_TYPES

from host_tests.modules.ethosu.runtime.kernels import cases, cases_weighted, maker  # noqa: F401

MODELS = ("small_cnn", "small_streaming")
OPERATORS = {
    number: name for name, number in vars(schema.BuiltinOperator).items() if name.isupper()
}


def _numbers(vector):
    return () if isinstance(vector, int) or vector is None else tuple(np.asarray(vector).tolist())


def _compare(data):
    tree = schema.ModelT.InitFromObj(schema.Model.GetRootAs(data, 0))
    graphs = ModelFile(data).graphs
    assert len(graphs) == len(tree.subgraphs)
    for found, expected in zip(graphs, tree.subgraphs, strict=True):
        assert (found.inputs, found.outputs) == tuple(
            map(_numbers, (expected.inputs, expected.outputs))
        )
        for tensor, wanted in zip(found.tensors, expected.tensors, strict=True):
            buffer = tree.buffers[wanted.buffer].data
            assert tensor.name == wanted.name.decode()
            assert tensor.shape == _numbers(wanted.shape)
            assert tensor.dtype == (DTYPES | OTHER_TYPES)[wanted.type]
            assert tensor.variable == wanted.isVariable
            assert tensor.content == (b"" if buffer is None else bytes(buffer))
            quantization = wanted.quantization
            scales = () if quantization is None else _numbers(quantization.scale)
            assert tensor.scale == (scales[0] if scales else 0)
            points = _numbers(quantization.zeroPoint) if scales else ()
            assert tensor.zero_point == (points[0] if points else 0)
        for operator, wanted in zip(found.operators, expected.operators, strict=True):
            code = tree.operatorCodes[wanted.opcodeIndex]
            number = max(code.builtinCode, code.deprecatedBuiltinCode)
            name = code.customCode.decode() if code.customCode else OPERATORS[number]
            assert (operator.name, operator.code) == (name, number)
            assert operator.inputs == _numbers(wanted.inputs)
            assert operator.outputs == _numbers(wanted.outputs)
    entries = {
        entry.name.decode(): bytes(tree.buffers[entry.buffer].data) for entry in tree.metadata or ()
    }
    assert {name: bytes(content) for name, content in ModelFile(data).entries.items()} == entries


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_described_before_and_after_vela(small_models, compiled, name):
    source = small_models[name]
    _compare(source.read_bytes())
    _compare(compiled(source).read_bytes())


def test_models_of_every_kernel_are_described():
    for name in maker.GENERATORS:
        _compare(maker.make(name, 0).model)
