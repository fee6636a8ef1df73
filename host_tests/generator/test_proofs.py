# SPDX-License-Identifier: MIT
"""A known defect of Vela counts only when the command stream shows it."""

import struct
from dataclasses import replace

import pytest

from . import case as cases
from . import check, coverage, proofs

# Cases that were failures until their cause was read in the command stream.
SEEDS = {
    5047: "BATCH_MATMUL of a slice",
    5378: "BATCH_MATMUL of a slice",
    10291: "REDUCE_MAX of a slice",
    10386: "BATCH_MATMUL of a slice",
    11099: "SQUARED_DIFFERENCE",
    11611: "groups of a batch",
}

_CODES = {name: code for code, name in coverage._NAMES.items()}


@pytest.mark.parametrize("seed", SEEDS)
def test_defect_of_vela_shows_in_the_stream(seed):
    result = check.check(cases.make(seed))
    assert result.verdict is check.Verdict.DEFECT
    assert result.reason.startswith(SEEDS[seed])


def test_difference_without_proof_is_a_failure():
    case = cases.make(5378)
    unproven = replace(case, known=(proofs.Defect("never", lambda _model: False),))
    assert check.check(unproven).verdict is check.Verdict.DIFFERS


def shows(monkeypatch, proof, *commands):
    """Whether a proof holds for a stream of these commands: name, parameter, payload."""
    stream = b"".join(
        struct.pack("<HH", _CODES[name], param)
        if payload is None
        else struct.pack("<HHI", _CODES[name] | 0x4000, param, payload)
        for name, param, payload in commands
    )
    monkeypatch.setattr(coverage, "streams", lambda _model: [stream])
    return proof(b"")


@pytest.mark.parametrize(("top", "bottom", "lopsided"), [(1, 1, 0), (1, 2, 0), (0, 2, 1)])
def test_lopsided_padding(monkeypatch, top, bottom, lopsided):
    pads = [("IFM_PAD_TOP", top, None), ("IFM_PAD_BOTTOM", bottom, None), ("CONV", 0, None)]
    assert shows(monkeypatch, proofs.lopsided_padding, *pads) == lopsided


def test_padding_of_stripes_counts_together(monkeypatch):
    first = [("IFM_PAD_TOP", 2, None), ("CONV", 0, None)]
    last = [("IFM_PAD_TOP", 0, None), ("IFM_PAD_BOTTOM", 2, None), ("CONV", 0, None)]
    assert not shows(monkeypatch, proofs.lopsided_padding, *first, *last)


@pytest.mark.parametrize(("stride", "overlapping"), [(8, 0), (7, 1)])
def test_overlapping_output(monkeypatch, stride, overlapping):
    output = [("OFM_DEPTH_M1", 7, None), ("OFM_STRIDE_X", 0, stride), ("POOL", 1, None)]
    assert shows(monkeypatch, proofs.overlapping_output, *output) == overlapping


@pytest.mark.parametrize(("precision", "shift", "shifted"), [(9, 0, 0), (1, 30, 0), (9, 30, 1)])
def test_shifted_product(monkeypatch, precision, shift, shifted):
    product = [("IFM_PRECISION", precision, None), ("OFM_SCALE", shift, 1)]
    product.append(("ELEMENTWISE", 0, None))
    assert shows(monkeypatch, proofs.shifted_product, *product) == shifted


@pytest.mark.parametrize(("length", "pad", "wrong"), [(4, 0, 0), (4, 1, 1), (5, 0, 1)])
def test_wrong_window(monkeypatch, length, pad, wrong):
    pool = [("KERNEL_WIDTH_M1", 3, None), ("IFM_PAD_RIGHT", pad, None), ("POOL", 0, None)]
    assert shows(monkeypatch, proofs.WrongWindow((1, length)), *pool) == wrong
