# SPDX-License-Identifier: MIT
"""A known defect of Vela counts only when the command stream shows it."""

import struct
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from . import case as cases
from . import check, coverage, places, proofs
from .families import U55_U65_UNSIGNED, U85

# Cases that were failures until their cause was read in the command stream.
SEEDS = {
    30: "value shared between shapes",
    52: "ARG_MAX to int64",
    483: "groups of a batch",
    488: "SUM that drops axes",
    735: "MIRROR_PAD of channels",
    920: "groups of a batch",
    1213: "SQUARED_DIFFERENCE",
    2856: "REDUCE_MIN that drops axes",
    3450: "REDUCE_MAX of a slice",
    3841: "padding around a slice",
    3843: "SUM of other axes",
    5047: "BATCH_MATMUL of a slice",
    5378: "BATCH_MATMUL of a slice",
    6866: "SUB of a slice",
    9184: "data flow",
    10291: "REDUCE_MAX of a slice",
    10386: "BATCH_MATMUL of a slice",
    11099: "SQUARED_DIFFERENCE",
    11611: "groups of a batch",
    7002456: "MIRROR_PAD of channels",
    7006839: "MIRROR_PAD of channels",
    6000268: "REDUCE_MAX of a slice",
    20261121000135: "RESIZE_BILINEAR into a PAD",
}
UNSIGNED_SEEDS = {106: "TRANSPOSE of uint8", 491: "a table is loaded beyond", 612: "TRANSPOSE of"}

U85_SEEDS = {
    737: "data flow",
    500276: "a comparison that is an output",
    500737: "RESIZE_NEAREST_NEIGHBOR",
    501580: "groups of equal weights",
    503259: "a comparison that is an output",
    503277: "TRANSPOSE_CONV from or into a part",
    504211: "TRANSPOSE_CONV from or into a part",
    505861: "TRANSPOSE_CONV from or into a part",
    506035: "a comparison that is an output",
    506627: "a comparison that is an output",
    506662: "value shared between shapes",
    506711: "RESIZE by steps",
    601034: "value shared between shapes",
    601333: "DEPTHWISE_CONV_2D by a multiplier",
    602749: "a comparison that is an output",
    603290: "REDUCE_MAX of a slice",
    606880: "ARG_MAX of a slice",
    607383: "BATCH_MATMUL of a slice",
    910284: "SQUARED_DIFFERENCE",
    7006168: "MIRROR_PAD of channels",
    3004941: "TRANSPOSE_CONV from or into a part",
}

_CODES = {name: code for code, name in coverage._NAMES.items()}


@pytest.mark.parametrize("seed", SEEDS)
def test_defect_of_vela_shows_in_the_stream(seed):
    result = check.check(cases.make(seed))
    assert result.verdict is check.Verdict.DEFECT
    assert result.reason.startswith(SEEDS[seed])


@pytest.mark.parametrize("seed", UNSIGNED_SEEDS)
def test_defect_of_vela_with_uint8_shows_in_the_stream(seed):
    result = check.check(cases.make(seed, family=U55_U65_UNSIGNED))
    assert result.verdict is check.Verdict.DEFECT
    assert result.reason.startswith(UNSIGNED_SEEDS[seed])


@pytest.mark.parametrize("seed", U85_SEEDS)
def test_defect_of_vela_for_u85_shows_in_the_stream(seed):
    result = check.check(cases.make(seed, family=U85))
    assert result.verdict is check.Verdict.DEFECT
    assert result.reason.startswith(U85_SEEDS[seed])


def test_corners_of_padding_are_written_twice():
    result = check.check(cases.make(910978, family=U85))
    assert result.verdict is check.Verdict.EXACT
    assert not places.unread(result.compiled)


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
    assert shows(monkeypatch, places.overlapping_output, *output) == overlapping


@pytest.mark.parametrize(("precision", "shift", "shifted"), [(9, 0, 0), (1, 30, 0), (9, 30, 1)])
def test_shifted_product(monkeypatch, precision, shift, shifted):
    product = [("IFM_PRECISION", precision, None), ("OFM_SCALE", shift, 1)]
    product.append(("ELEMENTWISE", 0, None))
    assert shows(monkeypatch, proofs.shifted_product, *product) == shifted


@pytest.mark.parametrize(("length", "pad", "wrong"), [(4, 0, 0), (4, 1, 1), (5, 0, 1)])
def test_wrong_window(monkeypatch, length, pad, wrong):
    pool = [("KERNEL_WIDTH_M1", 3, None), ("IFM_PAD_RIGHT", pad, None), ("POOL", 0, None)]
    assert shows(monkeypatch, proofs.WrongWindow((1, length)), *pool) == wrong


@pytest.mark.parametrize(("low", "high", "precision", "clamped"), [
    (0xFF80, 0x7F, 0x101, 0),
    (0, 0x7F, 0x101, 1),
    (0, 0xFF, 0x100, 0),
])  # fmt: skip
def test_signed_clamp(monkeypatch, low, high, precision, clamped):
    copy = [("ACTIVATION_MIN", low, None), ("ACTIVATION_MAX", high, None)]
    copy += [("OFM_PRECISION", precision, None), ("POOL", 1, None)]
    assert shows(monkeypatch, proofs.signed_clamp, *copy) == clamped


@pytest.mark.parametrize(
    ("base2", "rows", "beyond"), [(0, 3, 0), (0, 4, 0), (64, 4, 1), (40, 4, 1)]
)
def test_beyond_tile(monkeypatch, base2, rows, beyond):
    read = [("IFM_HEIGHT0_M1", 2, None), ("OFM_HEIGHT_M1", rows - 1, None)]
    read += [("IFM_STRIDE_Y", 0, 32), ("IFM_BASE0", 0, 64), ("IFM_BASE2", 0, base2)]
    assert shows(monkeypatch, places.beyond_tile, *read, ("CONV", 0, None)) == beyond


@pytest.mark.parametrize(
    ("broadcast", "columns", "repeated"), [(0, 2, 0), (0x87, 2, 0), (2, 2, 1), (2, 1, 0)]
)
def test_repeated(monkeypatch, broadcast, columns, repeated):
    operands = [("IFM2_BROADCAST", broadcast, None), ("OFM_WIDTH_M1", columns - 1, None)]
    operands.append(("ELEMENTWISE", 2, None))
    assert shows(monkeypatch, proofs.repeated, *operands) == repeated


@pytest.mark.parametrize(("first", "depth", "unwritten"), [(0, 8, 0), (3, 5, 1), (3, 8, 0)])
def test_unwritten_channels(monkeypatch, first, depth, unwritten):
    fill = [("OFM_STRIDE_Y", 0, 32), ("OFM_STRIDE_X", 0, 8), ("OFM_BASE0", 0, 64 + first)]
    fill += [("OFM_DEPTH_M1", depth - 1, None), ("POOL", 1, None)]
    assert shows(monkeypatch, places.UnwrittenChannels(32, 8, 96), *fill) == unwritten


@pytest.mark.parametrize(("depth", "mode", "other"), [(2, 1, 0), (3, 1, 1), (2, 2, 1)])
def test_other_size(monkeypatch, depth, mode, other):
    last = [("OFM_DEPTH_M1", depth - 1, None), ("POOL", mode, None)]
    assert shows(monkeypatch, proofs.OtherSize(2), *last) == other


@pytest.mark.parametrize(
    ("mode", "height", "width", "across"),
    [(6, 1, 6, 0), (7, 6, 1, 0), (7, 1, 6, 1), (6, 6, 1, 1), (7, 1, 1, 0), (1, 1, 6, 0)],
)
def test_counts_across(monkeypatch, mode, height, width, across):
    window = [("KERNEL_HEIGHT_M1", height - 1, None), ("KERNEL_WIDTH_M1", width - 1, None)]
    assert shows(monkeypatch, proofs.counts_across, *window, ("POOL", mode, None)) == across


@pytest.mark.parametrize(
    ("stride", "rows", "columns", "large"),
    [(16, 2, 8, 0), (16, 3, 8, 1), (16, 2, 9, 1), (8, 3, 9, 0), (24, 3, 9, 0)],
)
def test_large_quarter(monkeypatch, stride, rows, columns, large):
    quarter = [("OFM_PRECISION", 1 << 1, None), ("OFM_DEPTH_M1", 3, None)]
    quarter += [("OFM_STRIDE_X", 0, stride), ("OFM_HEIGHT_M1", rows - 1, None)]
    quarter += [("OFM_WIDTH_M1", columns - 1, None), ("DEPTHWISE", 0, None)]
    assert shows(monkeypatch, places.LargeQuarter(2, 8), *quarter) == large


@pytest.mark.parametrize(("columns", "broadcast", "beyond"), [(8, 0, 0), (9, 0, 1), (9, 2, 0)])
def test_beyond_width(monkeypatch, columns, broadcast, beyond):
    read = [("IFM_WIDTH0_M1", 7, None), ("IFM2_WIDTH0_M1", 15, None)]
    read += [("OFM_WIDTH_M1", columns - 1, None), ("IFM_BROADCAST", broadcast, None)]
    assert shows(monkeypatch, places.beyond_width, *read, ("ELEMENTWISE", 1, None)) == beyond


@pytest.mark.parametrize(("mode", "broadcast", "repeated"), [(42, 0, 0), (42, 1, 1), (33, 1, 0)])
def test_repeated_choice(monkeypatch, mode, broadcast, repeated):
    operands = [("IFM_BROADCAST", broadcast, None), ("OFM_HEIGHT_M1", 3, None)]
    operands.append(("ELEMENTWISE", mode, None))
    assert shows(monkeypatch, proofs.repeated_choice, *operands) == repeated


@pytest.mark.parametrize(("step", "lost"), [(96, 0), (8, 0), (48, 1)])
def test_lost_step(monkeypatch, step, lost):
    first = [("IFM_STRIDE_Y", 0, 96), ("IFM_STRIDE_X", 0, 8), ("IFM_BASE0", 0, 40)]
    parts = [*first, ("CONV", 1, None), ("IFM_BASE0", 0, 40 + step), ("CONV", 1, None)]
    assert shows(monkeypatch, places.LostStep(2), *parts) == lost


def test_step_from_one_product_to_another_is_not_lost(monkeypatch):
    first = [("IFM_STRIDE_Y", 0, 96), ("IFM_STRIDE_X", 0, 8), ("IFM_BASE0", 0, 40)]
    other = [("POOL", 3, None), ("IFM_BASE0", 0, 88), ("CONV", 1, None)]
    assert not shows(monkeypatch, places.LostStep(2), *first, ("CONV", 1, None), *other)


def convolution(rows, columns, y, read, written):
    """A 1x1 convolution of an input of 4x4x1 bytes, with rows of 8 bytes, without its padding."""
    for side, size in (("HEIGHT", rows), ("WIDTH", columns)):
        yield f"OFM_{side}_M1", size - 1, None
        yield f"OFM_{side}0_M1", size - 1, None
    for name, size in (("IFM_STRIDE_Y", 8), ("IFM_STRIDE_X", 1), ("OFM_STRIDE_Y", y)):
        yield name, 0, size
    yield from (("OFM_STRIDE_X", 0, y // 8), ("IFM_BASE0", 0, read), ("OFM_BASE0", 0, written))
    yield "CONV", 0, None


@pytest.mark.parametrize(
    ("read", "written", "beside"), [(64, 128, 0), (64, 137, 0), (64, 112, 1), (0, 128, 1)]
)
def test_beside_zeros(monkeypatch, read, written, beside):
    pads = [("IFM_PAD_BOTTOM", 4, None), ("IFM_PAD_RIGHT", 4, None)]
    none = [("IFM_PAD_BOTTOM", 0, None), ("IFM_PAD_RIGHT", 0, None)]
    stream = [*pads, *convolution(8, 8, 8, 64, 128), *none]
    stream += convolution(4, 4, 16, read, written)
    assert shows(monkeypatch, places.beside_zeros, *stream) == beside


def test_padded_convolution_is_no_fill_for_another(monkeypatch):
    stream = [("IFM_PAD_BOTTOM", 4, None), *convolution(8, 8, 8, 64, 128)]
    stream += [("IFM_PAD_BOTTOM", 0, None), *convolution(8, 8, 16, 64, 256)]
    assert not shows(monkeypatch, places.beside_zeros, *stream)


@pytest.mark.parametrize(
    ("read", "written", "apart"), [(64, 129, 0), (72, 129, 1), (72, 136, 1), (72, 256, 0)]
)
def test_parts_apart(monkeypatch, read, written, apart):
    stream = [*convolution(4, 4, 16, 64, 128), *convolution(4, 4, 16, read, written)]
    assert shows(monkeypatch, places.PartsApart(8, 8), *stream) == apart


def test_halves_of_channels_are_no_parts(monkeypatch):
    stream = [*convolution(4, 4, 8, 64, 128), ("OFM_STRIDE_X", 0, 2)]
    stream += [*convolution(4, 4, 8, 72, 129)]
    assert not shows(monkeypatch, places.PartsApart(8, 8), *stream)


@pytest.mark.parametrize(
    ("made", "reads", "lost"),
    [(8, (64,), 1), (8, (80,), 0), (8, (64, 80), 0), (4, (64,), 0), (8, (66,), 0)],
)
def test_lost_place(monkeypatch, made, reads, lost):
    """The third row of eight is where the part begins; what has four rows is a copy of it."""
    monkeypatch.setattr(places, "npu_operators", lambda _model: [])
    stream = [*convolution(made, 8, 8, 0, 64)]
    for base in reads:
        stream += convolution(4, 4, 8, base, 256)
    part = places.LostPlace((8, 8, 1), (4, 4, 1), (2, 0, 0), (1, 1, 1))
    assert shows(monkeypatch, part, *stream) == lost


def pool(base, row):
    """Commands of a REDUCE_MAX of two rows of eight columns that are `row` bytes apart."""
    yield from (("IFM_HEIGHT0_M1", 1, None), ("IFM_WIDTH0_M1", 7, None), ("OFM_HEIGHT_M1", 1, None))
    yield from (("KERNEL_WIDTH_M1", 7, None), ("IFM_BASE0", 0, base))
    yield from (("IFM_STRIDE_Y", 0, row), ("IFM_STRIDE_X", 0, 1), ("IFM_STRIDE_C", 0, 1))
    yield ("POOL", 0, None)


@pytest.mark.parametrize(
    ("pools", "beside"),
    [
        ([(48, 8)], 1),  # as if there were nothing between the rows
        ([(48, 24)], 0),
        ([(48, 8), (48, 24)], 0),  # something else, and the slice
        ([(96, 8)], 0),  # a copy
    ],
)
def test_beside_slice(monkeypatch, pools, beside):
    """Eight columns of the first of three rows, of two images; the input lies at 48."""
    graph = SimpleNamespace(tensors=[SimpleNamespace(offset=48)])
    operator = SimpleNamespace(inputs=[0] * 5)
    monkeypatch.setattr(places, "npu_operators", lambda _model: [(graph, operator)])
    part = places.BesideSlice(np.arange(48).reshape(2, 3, 8)[:, :1])
    stream = [command for base, row in pools for command in pool(base, row)]
    assert shows(monkeypatch, part, *stream) == beside
