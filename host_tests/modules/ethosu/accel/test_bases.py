# SPDX-License-Identifier: MIT
"""Driver calls without the runtime take bases in any memory, and check before the kernel does."""

import ctypes as c
import struct

import numpy as np
import pytest
from ethosu_tools.model import tflite

NPU = "ethos-u65-256"
CONSTANTS, OWN_LINES = 2, 4


class Npu:
    """A handle."""

    def __init__(self, kernel):
        self.library = library = kernel.library
        library.ethosu_accel_open.restype = library.sim_accel_calls.restype = c.c_void_p
        library.ethosu_accel_copied.restype = c.c_uint64
        library.ethosu_ext_last_error.restype = c.c_void_p
        library.ethosu_accel_open.argtypes = c.c_char_p, c.c_void_p, c.c_void_p
        self.handle = c.c_void_p(
            library.ethosu_accel_open(b"/dev/accel/accel0", library.sim_accel_calls(), None)
        )
        self.program = c.create_string_buffer(1024)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.library.ethosu_accel_close(self.handle)

    def prepare(self, payload, bases, flags=CONSTANTS):
        """Set (address, size) of each base."""
        addresses = (c.c_uint64 * len(bases))(*(base[0] for base in bases))
        sizes = (c.c_size_t * len(bases))(*(base[1] for base in bases))
        return self.library.ethosu_ext_prepare(
            *(self.handle, self.program, payload, c.c_size_t(len(payload))),
            *(addresses, sizes, len(bases), flags),
        )

    def run(self):
        """Start the NPU, and wait."""
        assert self.library.ethosu_ext_start(self.handle, self.program, None) == 0
        return self.library.ethosu_ext_wait(self.handle, c.c_uint64(1000))

    @property
    def copied(self):
        return self.library.ethosu_accel_copied(self.handle)

    @property
    def reason(self):
        text = c.create_string_buffer(256)
        fault = self.library.ethosu_ext_last_error(self.handle)
        self.library.ethosu_ext_describe(c.c_void_p(fault), text, len(text))
        return text.value.decode()


class Call:
    """A model's only NPU operator, in memory that the NPU cannot access."""

    def __init__(self, compiled, source):
        (graph, *_) = tflite.parse(compiled(source, NPU).read_bytes())
        (operator,) = graph.operators
        payload, weights, scratch, fast = (graph.tensors[i] for i in operator.inputs[:4])
        self.payload = payload.content
        self.weights = c.create_string_buffer(weights.content, len(weights.content))
        self.scratch = np.zeros(scratch.size + 24, np.uint8)
        self.fast = c.create_string_buffer(max(fast.size, 1))
        (self.input,) = (graph.tensors[i] for i in graph.inputs)
        (self.output,) = (graph.tensors[i] for i in graph.outputs)
        self.start = scratch.offset - 8  # misaligned
        self.sizes = len(weights.content), scratch.size, fast.size

    @property
    def bases(self):
        addresses = c.addressof(self.weights), self.scratch.ctypes.data + 8, c.addressof(self.fast)
        return list(zip(addresses, self.sizes, strict=True))

    def write(self, values):
        at = self.input.offset - self.start
        self.scratch[at : at + values.size] = values.reshape(-1).view(np.uint8)

    def read(self):
        at = self.output.offset - self.start
        return self.scratch[at : at + self.output.size].view(np.int8)


@pytest.fixture
def call(case, compiled):
    """Return the NPU operator of a model."""
    return Call(compiled, case.model)


@pytest.fixture
def npu(kernel):
    """A handle."""
    with Npu(kernel) as npu:
        yield npu


def test_memory_outside_of_buffers_is_copied_and_constants_once(npu, case, call):
    assert npu.prepare(call.payload, call.bases) == 0, npu.reason
    weights, scratch, _ = call.sizes
    assert npu.copied == weights
    for run, (inputs, outputs) in enumerate(zip(case.inputs, case.outputs, strict=True), 1):
        call.write(inputs[0])
        assert npu.run() == 0, npu.reason
        np.testing.assert_array_equal(call.read(), outputs[0].reshape(-1))
        assert weights + run * scratch < npu.copied <= weights + 2 * run * scratch


@pytest.mark.parametrize("how", ["prepare", "clean"])
def test_new_constants_at_an_old_address_are_what_the_npu_reads(npu, how):
    words = (
        5,
        5,
        0xB0002,
        0x130,
        0x10131,
        0x4030,
        0,
        0x4031,
        0,
        0x4032,
        64,
        0x10,
        0x11,
        0xFFFF0000,
    )
    payload = struct.pack("<4s14I", b"COP1", *words)  # copies 64 bytes
    weights, output = c.create_string_buffer(b"A" * 64, 64), c.create_string_buffer(64)
    bases = [(c.addressof(weights), 64), (c.addressof(output), 64)]
    for letter in b"AB":
        c.memset(weights, letter, 64)
        if how == "prepare" or letter == ord("A"):
            assert npu.prepare(payload, bases) == 0, npu.reason
        else:
            npu.library.ethosu_ext_clean(npu.program)
        assert npu.run() == 0, npu.reason
        assert output.raw == bytes([letter]) * 64


def test_nothing_is_written_outside_of_what_the_stream_writes(npu, call):
    assert npu.prepare(call.payload, call.bases) == 0
    weights = bytes(call.weights)
    call.scratch[:] = 0x5A
    assert npu.run() == 0
    assert bytes(call.weights) == weights
    assert set(call.scratch[:8]) == set(call.scratch[-16:]) == {0x5A}


@pytest.mark.parametrize("short", [0, 1, 2])
def test_the_driver_checks_before_the_kernel_does(kernel, npu, call, short):
    bases = call.bases
    bases[short] = bases[short][0], 16
    kernel.fail(0x44, 5)  # this error would show that the kernel got the stream
    assert npu.prepare(call.payload, bases) != 0
    assert f"of region {short}, which has 16 bytes" in npu.reason or "fast memory" in npu.reason
    kernel.fail(0, 0)


def test_a_base_that_overlaps_what_is_written(npu, call):
    bases = call.bases
    bases[2] = bases[1][0] + 16, bases[2][1]
    assert npu.prepare(call.payload, bases) != 0
    assert "overlaps base pointer" in npu.reason


def test_eight_bases_leave_none_for_the_mark(npu, call):
    assert npu.prepare(call.payload, [*call.bases, *[(0, 0)] * 5]) != 0
    assert "8 base pointers given, expected at most 7" in npu.reason


def test_an_empty_base_needs_no_buffer(npu, case, call):
    assert npu.prepare(call.payload, [*call.bases, *[(0, 0)] * 4]) == 0, npu.reason
    call.write(case.inputs[0][0])
    assert npu.run() == 0, npu.reason
    np.testing.assert_array_equal(call.read(), case.outputs[0][0].reshape(-1))


def test_counters_count_an_inference(npu, call):
    events = (c.c_uint16 * 2)(0x23, 0x20)  # NPU_ACTIVE, NPU_IDLE
    counts = (c.c_uint64 * 3)()
    assert npu.prepare(call.payload, call.bases) == 0
    assert npu.library.ethosu_accel_counts(npu.handle, counts) != 0
    assert npu.library.ethosu_accel_count(npu.handle, events, 2) == 0, npu.reason
    assert npu.run() == 0
    assert npu.library.ethosu_accel_counts(npu.handle, counts) == 0, npu.reason
    assert counts[0] > 0 and counts[2] >= counts[0]
    assert npu.library.ethosu_accel_count(npu.handle, events, 5) != 0
    assert "can't count 5 events with 4 counters" in npu.reason


def test_a_base_at_the_start_of_a_buffer_is_that_buffer(kernel, npu, case, call):
    bases = call.bases
    arena = npu.library.ethosu_accel_alloc
    arena.restype, arena.argtypes = c.c_void_p, (c.c_void_p, c.c_size_t)
    place = arena(npu.handle, bases[0][1])
    c.memmove(place, call.weights, bases[0][1])
    bases[0] = place, bases[0][1]
    before = kernel.buffers
    assert npu.prepare(call.payload, bases) == 0, npu.reason
    assert (npu.copied, kernel.buffers - before) == (0, 1)  # a copy of the scratch; SRAM needs none
    call.write(case.inputs[0][0])
    assert npu.run() == 0, npu.reason
    np.testing.assert_array_equal(call.read(), case.outputs[0][0].reshape(-1))
