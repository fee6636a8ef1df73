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


def load_samples(path: Path) -> list[Any]:
    """One array for each input; the first dimension counts samples."""
    found = np.load(path, allow_pickle=False)
    arrays = [found[key] for key in sorted(found.files)] if hasattr(found, "files") else [found]
    if not arrays or len({len(array) for array in arrays}) != 1 or not len(arrays[0]):
        raise SystemExit(f"{path} holds no samples, or not as many for each input")
    return arrays


def feed(arrays: list[Any]) -> Iterator[list[Any]]:
    """The samples, one after the other, each a batch of one."""
    for index in range(len(arrays[0])):
        yield [array[index : index + 1].astype(np.float32) for array in arrays]


def from_onnx(model: Path, folder: Path) -> Path:
    """Have onnx2tf make a SavedModel."""
    import onnx2tf

    onnx2tf.convert(
        input_onnx_file_path=str(model),
        output_folder_path=str(folder),
        output_signaturedefs=True,
        non_verbose=True,
    )
    return folder


def converter(model: Path, by: str, work: Path) -> Any:
    """TensorFlow's converter for this model."""
    import tensorflow as tf

    if by == "onnx2tf":
        model = from_onnx(model, work)
    if model.is_dir():
        return tf.lite.TFLiteConverter.from_saved_model(str(model))
    return tf.lite.TFLiteConverter.from_keras_model(tf.keras.models.load_model(model))


def convert(options: dict[str, str]) -> None:
    """Convert, and quantise all that the NPU computes."""
    import tensorflow as tf

    output = Path(options["output"])
    arrays = load_samples(Path(options["samples"]))
    found = converter(Path(options["model"]), options["by"], output.parent / "saved_model")
    found.optimizations = [tf.lite.Optimize.DEFAULT]
    found.representative_dataset = lambda: feed(arrays)
    found.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    found.inference_input_type = found.inference_output_type = tf.int8
    output.write_bytes(found.convert())


if __name__ == "__main__":
    convert(json.loads(sys.argv[1]))
