# SPDX-License-Identifier: MIT
"""COP1 and COP2 payloads are equivalent; malformed ones give one sentence."""

import pytest
from ethosu_tools.base.errors import InputError
from ethosu_tools.compile import vela
from ethosu_tools.model import read_stream, tflite

FORMS = {
    "COP1": (),
    "COP2": ("--cop-format", "COP2"),
    "separate": ("--cop-format", "COP2", "--separate-io-regions"),
}


@pytest.fixture(scope="module")
def payloads(small_models, tmp_path_factory):
    """Return payloads of a model for a U85, by format; only their regions differ."""
    folder = tmp_path_factory.mktemp("payloads")

    def content(form):
        path = folder / f"{form}.tflite"
        vela.compile_model(
            small_models["small_cnn"], "ethos-u85-512", path, more_options=FORMS[form]
        )
        assert tflite.describe(path).npu == "ethos-u85-512"
        (graph, *_) = tflite.parse(path.read_bytes())
        (operator,) = (each for each in graph.operators if each.name == "ethos-u")
        return graph.tensors[operator.inputs[0]].content

    return {form: content(form) for form in FORMS}


def test_both_forms_hold_the_same(payloads):
    read = {form: read_stream(data) for form, data in payloads.items()}
    assert read["COP1"] == read["COP2"]
    assert {npu for npu, _ in read.values()} == {"ethos-u85-512"}


@pytest.mark.parametrize("data", [b"", b"COP3" + bytes(60), b"COP1", b"COP1\x05\0\0\0"])
def test_an_unknown_form_and_a_payload_without_stream_are_refused(data):
    with pytest.raises(InputError, match="payload"):
        read_stream(data)
