# SPDX-License-Identifier: MIT
"""Converts a model to int8 TFLite; convert.py runs it in the Python that has TensorFlow.

This program imports only numpy and the converter, nothing of this package. It reads its options as
JSON from the first argument, and writes the model.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

# onnx2tf runs image models on the data in this file, which it downloads if it is not in the working
# directory. Any numbers will do, because they only identify the axes.
SAMPLE_DATA = "calibration_image_sample_data_20x128x128x3_float32.npy"


# This file reports a mismatch: the input, the shape of its samples, and the shape of the input.
SHAPES = "shapes.json"
# Class labels of the samples, which a file may contain next to the inputs; as in arrays.py.
LABELS = ("labels", "label", "y")


def load_samples(path: Path) -> dict[str, Any]:
    """Load one array per input, with its key; the first dimension counts samples."""
    loaded = np.load(path, allow_pickle=False)
    if hasattr(loaded, "files"):
        keys = sorted(loaded.files, key=lambda key: (len(key), key))
        arrays = {key: loaded[key] for key in keys}
    else:
        arrays = {"0": loaded}
    counts = {len(array) for array in arrays.values()}
    if len(counts) != 1 or counts == {0}:
        raise SystemExit(f"{path} has no samples, or a different number for each input")
    return arrays


def in_order(samples: dict[str, Any], names: list[str]) -> list[Any]:
    """Find the array of each input, by number or name; classes are allowed too."""
    if not names:  # a SavedModel without a signature
        return list(samples.values())
    given = {key: each for key, each in samples.items() if key in names or key not in LABELS}
    keys = [sorted({str(index), name} & given.keys()) for index, name in enumerate(names)]
    if any(len(each) != 1 for each in keys) or len(given) != len(names):
        known = ", ".join(f"{index} ({name})" for index, name in enumerate(names))
        raise SystemExit(
            f"the samples must have the keys {known}, numbers or names, found {', '.join(samples)}"
        )
    return [given[key] for (key,) in keys]


def feed(arrays: list[Any], names: list[str]) -> Iterator[Any]:
    """Yield the samples in order, each as a batch of one; by name if there are names."""
    for index in range(len(arrays[0])):
        sample = [array[index : index + 1].astype(np.float32) for array in arrays]
        yield dict(zip(names, sample, strict=True)) if names else sample


def from_onnx(
    model: Path, samples: dict[str, Any], folder: Path
) -> tuple[list[Any], list[str], dict[str, str]]:
    """Convert to a SavedModel in `folder` with onnx2tf.

    Returns the samples in the SavedModel's layout (channels come second in ONNX and last in
    TensorFlow), the names of its inputs, and a map from plain names to those of the ONNX model.
    """
    import onnx
    import onnx2tf
    import tensorflow as tf

    graph = onnx.load(str(model), load_external_data=False).graph
    constants = {each.name for each in graph.initializer}
    inputs = [each for each in graph.input if each.name not in constants]
    arrays = in_order(samples, [each.name for each in inputs])
    check_shapes(arrays, [each.name for each in inputs], [_shape(each) for each in inputs])
    np.save(SAMPLE_DATA, np.random.default_rng(0).random((20, 128, 128, 3), np.float32))
    onnx2tf.convert(
        input_onnx_file_path=str(model),
        output_folder_path=str(folder),
        output_signaturedefs=True,
        batch_size=1,
        non_verbose=True,
    )
    loaded = tf.saved_model.load(str(folder)).signatures["serving_default"]
    specs = loaded.structured_input_signature[1].values()
    known = {_plain(each.name): each.name for each in specs}
    names = [known[_plain(each.name)] for each in inputs]
    original = {_plain(each.name): each.name for each in (*inputs, *graph.output)}
    if len(graph.output) == 1:  # onnx2tf's signature numbers the outputs otherwise
        original["output0"] = graph.output[0].name
    last = [np.moveaxis(each, 1, -1) if each.ndim in (3, 4, 5) else each for each in arrays]
    return last, names, original


def check_shapes(arrays: list[Any], names: list[str], shapes: list[list[int]]) -> None:
    """Exit if samples do not match the inputs; the first dimension counts them, 0 is any.

    The mismatch is written to the file SHAPES, from which the parent process makes its message.
    """
    for name, array, expected in zip(names, arrays, shapes, strict=True):
        shape = array.shape
        pairs = zip(shape[1:], expected[1:], strict=False)
        if expected and (len(shape) != len(expected) or any(b not in (0, a) for a, b in pairs)):
            Path(SHAPES).write_text(json.dumps([name, shape, expected[1:]]))
            raise SystemExit(f"samples of {name} have shape {list(shape)}, the input {expected}")


def _shape(tensor: Any) -> list[int]:
    """Return the shape of a graph's input; 0 means any size."""
    return [dim.dim_value for dim in tensor.type.tensor_type.shape.dim]


def _plain(name: str) -> str:
    """Replace the characters in a name that TensorFlow does not accept."""
    return "".join(letter for letter in name if letter.isalnum())


def converter(model: Path) -> tuple[Any, dict[str, list[int]]]:
    """Return TensorFlow's converter for a model, and names and shapes of the model's inputs."""
    import tensorflow as tf

    if model.is_dir():
        known = tf.saved_model.load(str(model)).signatures.get("serving_default")
        specs = known.structured_input_signature[1] if known else {}
        # An input of unknown rank gets [], as if it were a scalar.
        shapes = {
            name: spec.shape.as_list() if spec.shape.rank else [] for name, spec in specs.items()
        }
        inputs = {name: [size or 0 for size in shape] for name, shape in shapes.items()}
        return tf.lite.TFLiteConverter.from_saved_model(str(model)), inputs
    loaded = unrolled(tf.keras.models.load_model(model))
    tensors = getattr(loaded, "inputs", None) or ()
    inputs = {tensor.name: [size or 0 for size in tensor.shape] for tensor in tensors}
    return tf.lite.TFLiteConverter.from_keras_model(loaded), inputs


def unrolled(model: Any) -> Any:
    """Copy the model for a batch of one, with the loops of LSTM and GRU layers unrolled.

    TFLite has no operators for the loops that TensorFlow generates for a variable batch size, and
    its quantiser crashes on those for a batch of one.
    """
    config = model.get_config()
    changed, loops = _unroll(config)
    if not loops:
        return model
    copy = type(model).from_config(changed)
    copy.set_weights(model.get_weights())
    return copy


def _unroll(config: Any) -> tuple[Any, int]:
    """Unroll a layer's loops in its configuration, for a batch of one, and count the loops."""
    if isinstance(config, list | tuple):
        unrolled = [_unroll(each) for each in config]
        return type(config)(each for each, _ in unrolled), sum(loops for _, loops in unrolled)
    if not isinstance(config, dict):
        return config, 0
    changed, count = {}, int(config.get("unroll") is False)
    for key, value in config.items():
        if key == "batch_shape" and value and value[0] is None:
            changed[key] = (1, *value[1:])
        else:
            changed[key], loops = _unroll(value)
            count += loops
    return changed | ({"unroll": True} if "unroll" in config else {}), count


def named(data: bytes, names: dict[str, str]) -> bytes:
    """Rename inputs and outputs of a `.tflite` as in its signature.

    `names`: the names of the original model, if the signature has different ones.
    """
    from tensorflow.lite.tools import flatbuffer_utils

    model = flatbuffer_utils.read_model_from_bytearray(bytearray(data))
    if not model.signatureDefs:
        return data
    for tensor in (*model.signatureDefs[0].inputs, *model.signatureDefs[0].outputs):
        name = tensor.name.decode()
        model.subgraphs[0].tensors[tensor.tensorIndex].name = names.get(_plain(name), name)
    return bytes(flatbuffer_utils.convert_object_to_bytearray(model))


def convert(options: dict[str, str]) -> None:
    """Convert the model and quantise all operators that the NPU computes."""
    import tensorflow as tf

    output = Path(options["output"])
    model, samples = Path(options["model"]), load_samples(Path(options["samples"]))
    original: dict[str, str] = {}
    if options["by"] == "onnx2tf":
        folder = output.parent / "saved_model"
        arrays, names, original = from_onnx(model, samples, folder)
        conversion, _ = converter(folder)
    else:
        conversion, inputs = converter(model)
        known = list(inputs)
        arrays = in_order(samples, known)
        if known:
            check_shapes(arrays, known, list(inputs.values()))
        # A single input needs no name, and a Keras model's may differ from its signature's.
        names = known if len(known) > 1 and samples.keys() >= set(known) else []
    conversion.optimizations = [tf.lite.Optimize.DEFAULT]
    conversion.representative_dataset = lambda: feed(arrays, names)
    conversion.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    conversion.inference_input_type = conversion.inference_output_type = tf.int8
    output.write_bytes(named(conversion.convert(), original))


if __name__ == "__main__":
    convert(json.loads(sys.argv[1]))
