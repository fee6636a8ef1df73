# SPDX-License-Identifier: MIT
"""`ethosu check` gives the right answer on public files that tools of any kind wrote.

A new file is a row of FILES: the board to check (None: all), the exit code, and words of the
verdict or of the message.
"""

import pytest

SMALL = "MPS3_AN547"
YES = "every value equals TFLite's"

FILES = {
    # An output of this model is a constant, which Vela drops.
    "litert_const_output": (None, 0, ("Yes: it runs on all 10 boards", YES)),
    # None of several signatures is left out.
    "aeq_two_signatures_a8w8": (None, 0, ("2 signatures: add: Yes", "; multiply: Yes", YES)),
    "aeq_kv_cache": (SMALL, 3, ("2 signatures: signature_1: No", "; signature_2: No", "RSQRT")),
    "aeq_dup_names": (SMALL, 3, ("No: ", "RSQRT")),
    "litert_dynamic_shape": (SMALL, 0, ("Yes: ", YES)),
    "litert_topk": (SMALL, 3, ("No: ", "TOPK_V2")),
    "litert_topo_violation": (SMALL, 0, ("Yes: ", YES)),
    "mlon_reduce_max": (SMALL, 3, ("No: ", "REDUCE_MAX")),
    # These were compiled for other accelerators.
    "coral_testconv1_edgetpu": (SMALL, 3, ("compiled for Google's Edge TPU", "edgetpu_compiler")),
    "litert_mediatek": (SMALL, 3, ("compiled for the NPU of another chip", "ahead of time")),
    # Messages have names and types, not numbers.
    "aeq_composite": (SMALL, 3, ("No: ", "no kernel computes STABLEHLO_COMPOSITE")),
    "litert_gather_string": (SMALL, 3, ("tensor 0 (input)", "the type string")),
    "litert_blockwise": (SMALL, 3, ("scales of blocks", "quantise the weights to int8")),
    # Random inputs are in the operator's domain.
    "litert_rsqrt_a16w8": (SMALL, 0, ("Yes: ", YES)),
    "mlon_reverse_sequence": (SMALL, 3, ("No: ", "REVERSE_SEQUENCE")),
}


@pytest.mark.parametrize("name", FILES)
def test_what_check_answers(ethosu, shared_models, name):
    board, expected, words = FILES[name]
    path = shared_models / f"field/{name}.tflite"
    code, out, err = ethosu("check", path, *(("--board", board) if board else ()))
    said = " ".join(f"{out} {err}".split())
    assert code == expected, said
    for each in words:
        assert each in said
