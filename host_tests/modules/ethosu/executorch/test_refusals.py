# SPDX-License-Identifier: MIT
"""Damaged programs are rejected at load with an error, without a bad access (ASan)."""

import re
import struct

import numpy as np
import pytest
from ethosu_tools.base.errors import InputError
from ethosu_tools.sim.simulation import Simulation

from . import damaged, hostile

ALL = damaged.DELEGATES | damaged.PROGRAMS


@pytest.mark.parametrize("width", [64, 32])
def test_damaged_programs_are_refused(damage, raw, width):
    said = damage.each({name: make(raw("u55")) for name, (make, _) in ALL.items()}, width)
    expected = {name: rf"-.*({words})" for name, (_, words) in ALL.items()}
    wrong = {name: text for name, text in said.items() if not re.match(expected[name], text)}
    assert len(said) > 70 and wrong == {}


@pytest.mark.parametrize("width", [64, 32])
def test_valid_programs_of_the_same_kind_are_accepted(damage, raw, width):
    said = damage.each({name: make(raw("u55")) for name, make in damaged.SOUND.items()}, width)
    assert {name: text for name, text in said.items() if not text.startswith("0 ")} == {}


def test_scratch_that_the_stream_leaves_is_refused(raw):
    """Scratch that has input and output, but not all that the stream writes, is refused."""
    blob = raw("u55")
    data = damaged.replace(blob, scratch_size=blob.inputs[0].offset + blob.inputs[0].size)
    with pytest.raises(InputError, match=r"instruction 0 \(delegate\): "):
        Simulation(damaged._file(data.encode()))


@pytest.mark.parametrize("width", [64, 32])
def test_fast_scratch_of_2_gb_and_more_is_refused(damage, raw, width):
    """A stream whose first transfer has a destination above 2 GB is refused."""
    blob = raw("u65 dedicated")
    words = list(struct.unpack(f"<{len(blob.commands) // 4}I", blob.commands))
    set_destination = 0x4031  # NPU_SET_DMA0_DST_BASE
    words[words.index(set_destination) + 1] = 0x90000000
    commands = struct.pack(f"<{len(words)}I", *words)
    said = damage("load", damaged._file(damaged.replace(blob, commands=commands).encode()), width)
    expected = r"\(delegate\): region 2 needs 2304 MB, expected less than 2048"
    assert re.search(expected, said), said


def test_a_program_for_another_npu_is_refused(raw):
    data = damaged._file(raw("u55").encode())
    with pytest.raises(InputError, match="compiled for ethos-u55-128, the NPU is ethos-u55-64"):
        Simulation(data, "ethos-u55-64")


@pytest.mark.parametrize("width", [64, 32])
def test_cut_at_every_byte(damage, raw, width):
    model = damaged.SOUND["a delegate"](raw("u55"))
    assert re.search(r"prefixes, 0 accepted", damage("cut", model, width))


@pytest.mark.parametrize("width", [64, 32])
@pytest.mark.parametrize("name", damaged.SOUND)
def test_a_file_that_changes_after_it_was_loaded(damage, raw, name, width):
    """If a file changes later, descriptions still match the buffers' sizes, or are missing."""
    assert damage("later", damaged.SOUND[name](raw("u55")), width).endswith(", 0 wrong\n")


@pytest.mark.parametrize("width", [64, 32])
def test_an_arena_that_shares_memory_with_the_data_file_is_refused(damage, raw, width):
    assert "overlaps the data file" in damage("data", damaged.SOUND["quantize"](raw("u55")), width)


def test_too_much_work_is_rejected_with_its_location(damage):
    said = damage("load", hostile.MUCH_WORK["names of a program's data"]())
    assert re.match(r"-\d+ instruction \d+ \(delegate\): .* too long", said)


def misunderstood(blob) -> bytes:
    """Make a program whose commands the verifier rejects: they never set the scales' region."""
    words = np.frombuffer(blob.commands, np.uint32)
    scale_region, weight_region = 0x129, 0x128
    words = np.where(words & 0xFFFF == scale_region, np.uint32(weight_region), words)
    return damaged._file(damaged.replace(blob, commands=words.tobytes()).encode())


@pytest.mark.parametrize("name", ["u55", "u65 dedicated COP2"])
def test_a_program_that_is_not_verified_loads(raw, name):
    """Without verification, a program loads if it has no fast scratch, or gives its size."""
    data = misunderstood(raw(name))
    with pytest.raises(InputError, match=r"0x129, which was never set; .* --no-verify"):
        Simulation(data)
    with (
        Simulation(damaged._file(raw(name).encode())) as verified,
        Simulation(data, verify=False) as model,
    ):
        assert model.info() == verified.info()


def test_fast_scratch_that_the_verifier_cannot_measure_is_refused(raw):
    """Without a known size, fast scratch is refused: later commands could leave the arena."""
    with pytest.raises(InputError, match=r"\(delegate\): unknown size of fast scratch: "):
        Simulation(misunderstood(raw("u65 dedicated")), verify=False)
