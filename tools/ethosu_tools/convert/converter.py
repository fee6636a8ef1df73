# SPDX-License-Identifier: MIT
"""Converts a model to int8 TFLite; run by the Python that has TensorFlow, see convert.py.

Imports neither this package nor anything else but numpy and what converts. Reads its options as
JSON from the first argument, and writes the model.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

# onnx2tf runs a model of images on those in this file, and downloads it unless the folder that it
# runs in has one. Any numbers will do: they show which axis is which.
TRIAL = "calibration_image_sample_data_20x128x128x3_float32.npy"


# Input, shape of its samples, and shape of one: where they do not fit.
SHAPES = "shapes.json"
# The classes of samples, which a file may have next to the inputs: those of arrays.py.
LABELS = ("labels", "label", "y")


def load_samples(path: Path) -> dict[str, Any]:
    """One array for each input, with its key; the first dimension counts samples."""
    found = np.load(path, allow_pickle=False)
    if hasattr(found, "files"):
        keys = sorted(found.files, key=lambda key: (len(key), key))
        arrays = {key: found[key] for key in keys}
    else:
        arrays = {"0": found}
    counts = {len(array) for array in arrays.values()}
    if len(counts) != 1 or counts == {0}:
        raise SystemExit(f"{path} holds no samples, or not as many for each input")
    return arrays


def in_order(samples: dict[str, Any], names: list[str]) -> list[Any]:
    """The array of each input, under its number or its name; classes may be there, too."""
    if not names:  # of a SavedModel without a signature
        return list(samples.values())
    given = {key: each for key, each in samples.items() if key in names or key not in LABELS}
    keys = [sorted({str(index), name} & given.keys()) for index, name in enumerate(names)]
    if any(len(each) != 1 for each in keys) or len(given) != len(names):
        wanted = ", ".join(f"{index} ({name})" for index, name in enumerate(names))
        raise SystemExit(
            f"the samples must have the keys {wanted}, numbers or names, found {', '.join(samples)}"
        )
    return [given[key] for (key,) in keys]


def feed(arrays: list[Any], names: list[str]) -> Iterator[Any]:
    """The samples, one after the other, each a batch of one; by name if there are names."""
    for index in range(len(arrays[0])):
        sample = [array[index : index + 1].astype(np.float32) for array in arrays]
        yield dict(zip(names, sample, strict=True)) if names else sample


def from_onnx(
    model: Path, samples: dict[str, Any], folder: Path
) -> tuple[list[Any], list[str], dict[str, str]]:
    """Have onnx2tf make a SavedModel in `folder`.

    Returns the samples in its layout (channels come second in ONNX and last in TensorFlow), the
    names of its inputs, and of each plain name the one that the ONNX model has.
    """
    import onnx
    import onnx2tf
    import tensorflow as tf

    graph = onnx.load(str(model), load_external_data=False).graph
    constants = {each.name for each in graph.initializer}
    inputs = [each for each in graph.input if each.name not in constants]
    arrays = in_order(samples, [each.name for each in inputs])
    check_shapes(arrays, [each.name for each in inputs], [_shape(each) for each in inputs])
    np.save(TRIAL, np.random.default_rng(0).random((20, 128, 128, 3), np.float32))
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
    if len(graph.output) == 1:  # onnx2tf's signature numbers the outputs
        original["output0"] = graph.output[0].name
    last = [np.moveaxis(each, 1, -1) if each.ndim in (3, 4, 5) else each for each in arrays]
    return last, names, original


def check_shapes(arrays: list[Any], names: list[str], shapes: list[list[int]]) -> None:
    """End the program if samples do not fit inputs; the first dimension counts them, 0 is any.

    What differs goes to the file SHAPES: who started the program knows what to do about it.
    """
    for name, array, want in zip(names, arrays, shapes, strict=True):
        have = array.shape
        pairs = zip(have[1:], want[1:], strict=False)
        if want and (len(have) != len(want) or any(w not in (0, h) for h, w in pairs)):
            Path(SHAPES).write_text(json.dumps([name, have, want[1:]]))
            raise SystemExit(f"samples of {name} are {list(have)}, the input is {want}")


def _shape(tensor: Any) -> list[int]:
    """The shape of a graph's input; 0: any number."""
    return [dim.dim_value for dim in tensor.type.tensor_type.shape.dim]


def _plain(name: str) -> str:
    """A name without what TensorFlow does not take in names."""
    return "".join(letter for letter in name if letter.isalnum())


def converter(model: Path) -> tuple[Any, dict[str, list[int]]]:
    """TensorFlow's converter for this model, and the model's inputs: names and shapes."""
    import tensorflow as tf

    if model.is_dir():
        known = tf.saved_model.load(str(model)).signatures.get("serving_default")
        specs = known.structured_input_signature[1] if known else {}
        # An input may have any number of dimensions: [] then, as if it had none.
        shapes = {
            name: spec.shape.as_list() if spec.shape.rank else [] for name, spec in specs.items()
        }
        inputs = {name: [size or 0 for size in shape] for name, shape in shapes.items()}
        return tf.lite.TFLiteConverter.from_saved_model(str(model)), inputs
    loaded = unrolled(tf.keras.models.load_model(model))
    ends = getattr(loaded, "inputs", None) or ()
    inputs = {each.name: [size or 0 for size in each.shape] for each in ends}
    return tf.lite.TFLiteConverter.from_keras_model(loaded), inputs


def unrolled(model: Any) -> Any:
    """The model without the loops of LSTM and GRU layers: a copy, for a batch of one.

    TFLite has no operators for the loops that TensorFlow makes of a batch of any size, and its
    quantiser crashes on those of a batch of one.
    """
    config = model.get_config()
    changed, loops = _unroll(config)
    if not loops:
        return model
    copy = type(model).from_config(changed)
    copy.set_weights(model.get_weights())
    return copy


def _unroll(config: Any) -> tuple[Any, int]:
    """A layer's configuration with unrolled loops and a batch of one; and how many loops it had."""
    if isinstance(config, list | tuple):
        found = [_unroll(each) for each in config]
        return type(config)(each for each, _ in found), sum(loops for _, loops in found)
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
    """A `.tflite` whose inputs and outputs have the names of its signature, not the converter's.

    `names`: the names of the original model, where the signature has others.
    """
    from tensorflow.lite.tools import flatbuffer_utils

    model = flatbuffer_utils.read_model_from_bytearray(bytearray(data))
    if not model.signatureDefs:
        return data
    for each in (*model.signatureDefs[0].inputs, *model.signatureDefs[0].outputs):
        name = each.name.decode()
        model.subgraphs[0].tensors[each.tensorIndex].name = names.get(_plain(name), name)
    return bytes(flatbuffer_utils.convert_object_to_bytearray(model))


def convert(options: dict[str, str]) -> None:
    """Convert, and quantise all that the NPU computes."""
    import tensorflow as tf

    output = Path(options["output"])
    model, samples = Path(options["model"]), load_samples(Path(options["samples"]))
    original: dict[str, str] = {}
    if options["by"] == "onnx2tf":
        folder = output.parent / "saved_model"
        arrays, names, original = from_onnx(model, samples, folder)
        found, _ = converter(folder)
    else:
        found, inputs = converter(model)
        known = list(inputs)
        arrays = in_order(samples, known)
        if known:
            check_shapes(arrays, known, list(inputs.values()))
        # One input needs no name, and that of a Keras model may be another one in its signature.
        names = known if len(known) > 1 and samples.keys() >= set(known) else []
    found.optimizations = [tf.lite.Optimize.DEFAULT]
    found.representative_dataset = lambda: feed(arrays, names)
    found.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    found.inference_input_type = found.inference_output_type = tf.int8
    output.write_bytes(named(found.convert(), original))


if __name__ == "__main__":
    convert(json.loads(sys.argv[1]))
