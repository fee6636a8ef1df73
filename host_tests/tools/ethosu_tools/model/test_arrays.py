# SPDX-License-Identifier: MIT
"""Matching input arrays are passed in order; others are rejected with the difference."""

import io
import random
import zipfile

import numpy as np
import pytest
from ethosu_tools.base.errors import InputError, UsageError
from ethosu_tools.model import arrays
from ethosu_tools.model.tflite import Tensor

from host_tests.kit.models.damage import damaged

X = Tensor("x", (1, 3), "int8", 0.5, 0)
Y = Tensor("y", (2,), "int16", 0.5, 0)


def zeros(*shape, dtype=np.int8):
    return np.zeros(shape, dtype)


@pytest.mark.parametrize(
    ("shape", "steps", "expected"), [((1, 3), None, (1, False)), ((9, 1, 3), 2, (2, True))]
)
def test_a_single_invocation_has_no_time_and_steps_cut_it(shape, steps, expected):
    feed = arrays.check({"0": zeros(*shape)}, [X], steps)
    assert (feed.steps, feed.has_time) == expected


def test_time_axis_gives_one_step_per_index():
    data = np.arange(12, dtype=np.int8).reshape(4, 1, 3)
    feed = arrays.check({"0": data}, [X])
    assert feed.steps == 4
    assert [feed.step(index)[0].tolist() for index in range(4)] == data.tolist()


def test_input_without_time_is_fed_again_at_each_step():
    constant = np.array([7, 8], np.int16)
    feed = arrays.check({"0": zeros(3, 1, 3), "1": constant}, [X, Y])
    assert [feed.step(index)[1].tolist() for index in range(3)] == [[7, 8]] * 3


def test_blocks_hold_the_inputs_of_each_step_in_order():
    x = np.arange(6, dtype=np.int8).reshape(2, 1, 3)
    feed = arrays.check({"0": x, "1": np.array([1, -1], np.int16)}, [X, Y])
    assert feed.block(0, 2) == [b"\0\1\2\1\0\xff\xff", b"\3\4\5\1\0\xff\xff"]


def test_outputs_are_split_by_their_tensors():
    first, second = arrays.split(b"\1\2\3\1\0\xff\xff", [X, Y])
    assert first.tolist() == [[1, 2, 3]] and second.tolist() == [1, -1]


def test_outputs_of_steps_get_a_time_axis():
    rows = [[zeros(1, 3)], [zeros(1, 3)]]
    assert arrays.collect(rows, has_time=True)["0"].shape == (2, 1, 3)
    assert arrays.collect(rows[:1], has_time=False)["0"].shape == (1, 3)


def test_names_and_numbers_are_equivalent():
    x, y = zeros(1, 3), zeros(2, dtype=np.int16) + 1
    for given in ({"x": x, "y": y}, {"y": y, "0": x}, {"1": y, "x": x}):
        assert [each.sum() for each in arrays.check(given, [X, Y]).step(0)] == [0, 2]
    with pytest.raises(InputError, match="keys 0, 1, numbers or names, found x"):
        arrays.check({"x": x}, [X, X])  # an ambiguous name matches neither input


def test_samples_are_steps_and_their_classes_are_left_out():
    samples = np.arange(12, dtype=np.int8).reshape(4, 3)
    feed = arrays.check({"x": samples, "labels": zeros(4)}, [X])
    assert [feed.step(index)[0].tolist() for index in range(4)] == samples[:, None].tolist()
    classes = Tensor("labels", (2,), "int16")
    assert arrays.check({"labels": zeros(2, dtype=np.int16)}, [classes]).steps == 1


def test_an_npy_file_is_the_first_input(tmp_path):
    np.save(tmp_path / "x.npy", zeros(1, 3) + 5)
    assert arrays.check(arrays.load(tmp_path / "x.npy"), [X]).step(0)[0].tolist() == [[5, 5, 5]]
    with pytest.raises(InputError, match=r"keys 0 \(x\), 1 \(y\), .* found 0$"):
        arrays.check(arrays.load(tmp_path / "x.npy"), [X, Y])


@pytest.mark.parametrize(
    ("found", "wanted", "lead", "order"),
    [
        ((1, 3, 8, 8), (1, 8, 8, 3), None, (0, 2, 3, 1)),
        ((20, 3, 8, 8), (1, 8, 8, 3), None, (0, 2, 3, 1)),
        ((20, 1, 3, 8, 8), (1, 8, 8, 3), 1, (0, 1, 3, 4, 2)),
        ((3, 8, 8), (1, 8, 8, 3), 0, (1, 2, 0)),
        ((8, 3, 8, 8), (8, 8, 8, 3), None, (0, 2, 3, 1)),
        ((3, 4, 5), (5, 4, 3), None, (2, 1, 0)),
    ],
)
def test_another_order_of_axes_is_reported_as_a_transposition(found, wanted, lead, order):
    array = np.zeros(found)
    assert arrays.advice(found, wanted, lead).endswith(f"np.transpose(x, {order})")
    shape = np.transpose(array, order).shape
    assert np.squeeze(np.zeros(shape)).shape[-3:] == np.squeeze(np.zeros(wanted)).shape[-3:]
    assert not arrays.is_same_layout(found, wanted)


def test_a_shape_that_differs_in_axes_of_size_one_is_to_be_reshaped():
    assert "reshape it" in arrays.advice((1, 1, 49, 10), (1, 49, 1, 10))
    assert arrays.advice((2, 7), (1, 8, 8, 3)) == ""
    assert arrays.is_same_layout((49, 10), (1, 49, 10, 1))
    assert arrays.is_same_layout((490,), (1, 49, 10, 1))
    assert not arrays.is_same_layout((10, 49), (1, 49, 10, 1))


REFUSED = {
    "missing key": ({}, r"keys 0 \(x\), numbers or names, found none"),
    "wrong key": ({"y": zeros(1, 3)}, r"keys 0 \(x\), .* found y"),
    "one key too many": (
        {"0": zeros(1, 3), "1": zeros(1)},
        r"found 0, 1; the model has no input 1$",
    ),
    "twice": ({"0": zeros(1, 3), "x": zeros(1, 3)}, r"keys 0 \(x\), .* found 0, x"),
    "wrong dtype": ({"x": zeros(1, 3, dtype=np.uint8)}, r"input 0 \(x\) must be int8"),
    "wrong byte order": ({"0": zeros(1, 3, dtype=">f4")}, "must be int8, found >f4"),
    "wrong shape": ({"0": zeros(3, 1)}, r"shape \[1, 3\].* found \[3, 1\]"),
    "flat": ({"0": zeros(3)}, r"found \[3\]"),
    "too many dimensions": ({"0": zeros(1, 1, 1, 3)}, r"found \[1, 1, 1, 3\]"),
    "no time at all": ({"0": zeros(0, 1, 3)}, "time axis of length 0"),
}


@pytest.mark.parametrize("given, message", REFUSED.values(), ids=REFUSED)
def test_arrays_that_do_not_fit_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        arrays.check(given, [X])


def test_real_values_are_refused_with_the_raw_ones():
    tensor = Tensor("x", (1, 3), "int8", 0.0235294122, -3)
    x = np.array([[-5, 0.1, 0.2]], np.float32)
    with pytest.raises(InputError, match="must be int8, found float32; convert") as caught:
        arrays.check({"0": x}, [tensor])
    code = str(caught.value).rpartition("with: ")[2]
    assert (eval(code, {"np": np, "x": x}) == arrays.quantise("x", x, tensor)).all()


def test_time_axes_of_different_length_are_refused():
    with pytest.raises(InputError, match="differ in length"):
        arrays.check({"0": zeros(2, 1, 3), "1": zeros(3, 2, dtype=np.int16)}, [X, Y])


@pytest.mark.parametrize(
    ("steps", "shape", "message"),
    [
        *((steps, (2, 1, 3), "1 or more") for steps in (0, -1)),
        *((10**digits, (1, 3), r"steps have .* bytes of inputs, exp") for digits in (9, 400, 5000)),
        (5, (2, 1, 3), "asks for 5, but the time axis is 2 long"),
    ],
    ids=["0", "-1", "9 digits", "400 digits", "5000 digits", "too many"],
)
def test_steps_that_cannot_be_are_refused(steps, shape, message):
    with pytest.raises((InputError, UsageError), match=message):
        arrays.check({"0": zeros(*shape)}, [X], steps=steps)


def test_saved_arrays_are_loaded_again(tmp_path):
    arrays.save(tmp_path / "new folder" / "a.npz", {"0": np.arange(5)})
    assert arrays.load(tmp_path / "new folder" / "a.npz")["0"].tolist() == [0, 1, 2, 3, 4]
    assert [path.name for path in (tmp_path / "new folder").iterdir()] == ["a.npz"]


def pickled_array(path):
    with path.open("wb") as file:
        np.save(file, np.array([object()]), allow_pickle=True)


def cut_short(path):
    np.savez(path, **{"0": np.zeros(1000)})
    path.write_bytes(path.read_bytes()[:500])


FILES = {
    "missing": (lambda path: None, "cannot be read: No such file"),
    "empty": (lambda path: path.write_bytes(b""), "expected b'PK.* at its start, found b''"),
    "text": (
        lambda path: path.write_bytes(b"hello"),
        "expected b'PK.* at its start, found b'hell'",
    ),
    "pickled array": (pickled_array, "is not a valid .npy file: .*allow_pickle"),
    "cut short": (cut_short, "not a valid .npz"),
}


@pytest.mark.parametrize("make, message", FILES.values(), ids=FILES)
def test_files_that_hold_no_arrays_are_refused(tmp_path, make, message):
    path = tmp_path / "a.npz"
    make(path)
    with pytest.raises(InputError, match=message):
        arrays.load(path)


def test_random_inputs_cover_each_type_and_indices_are_0():
    types = ("int8", "bool", "int32", "float32")
    tensors = [Tensor("t", (1000,), dtype, 1.0, 0) for dtype in types]
    tensors[2] = Tensor("t", (1000,), "int32")  # an index, as it has no scale
    tensors.append(Tensor("t", (1000,), "int32", 1.0, 0))
    whole, truth, indices, real, numbers = arrays.random_inputs(tensors)
    assert real.dtype == np.float32 and -1 <= real.min() < -0.9 and 0.9 < real.max() <= 1
    assert (whole.min(), whole.max()) == (-128, 127)
    assert truth.dtype == bool
    assert set(truth.tolist()) == {False, True}
    assert not indices.any()
    assert -1000 <= numbers.min() < -900 and 900 < numbers.max() <= 1000


def zipped(content, method=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("0.npy", content)
    return file.getvalue()


HEADER = b"\x93NUMPY\x01\x00"
ODD = {
    "unknown compression": zipped(b"x").replace(b"\0\0\0\0", b"\0\0\x62\0"),
    "encrypted": zipped(b"x").replace(b"PK\x01\x02\x14\x03\x14\0\0", b"PK\x01\x02\x14\x03\x14\0\1"),
    "nested header": zipped(HEADER + b"\xff\xff" + b"(" * 65535),
    "minus signs": zipped(HEADER + b"\xff\xff" + b"-" * 65534 + b"1"),
    "object array": zipped(HEADER + b"v\x00{'descr':'|O','fortran_order':False,'shape':(1,),}"),
    "no array": zipped(b"not an array"),
    "empty": zipped(b""),
    "unpacks to 2 GB": zipped(bytes(1 << 20)).replace(
        (1 << 20).to_bytes(4, "little"), (1 << 31).to_bytes(4, "little")
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_archive_is_one_error(tmp_path, name):
    path = tmp_path / "odd.npz"
    path.write_bytes(ODD[name])
    with pytest.raises(InputError, match=r"odd\.npz is not a valid \.npz file: .") as caught:
        arrays.load(path)
    assert "\n" not in str(caught.value)


def test_damaged_archive_is_read_or_one_sentence(tmp_path):
    path = tmp_path / "damaged.npz"
    file = io.BytesIO()
    np.savez_compressed(file, **{"0": np.arange(100, dtype=np.int8), "1": np.zeros((3, 4))})
    dice, whole = random.Random(1), file.getvalue()
    for _ in range(400):
        path.write_bytes(damaged(whole, dice))
        try:
            arrays.load(path)
        except InputError:
            continue
