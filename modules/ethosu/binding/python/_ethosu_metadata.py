# SPDX-License-Identifier: MIT
"""TFLite metadata of a model as a dict: labels, normalisation, score calibration.

`model._facts` has the facts of runtime/load/tflite_metadata.h: (subject, kind, bytes or None).
"""

import struct

_TRANSFORMATIONS = ("identity", "log", "inverse_logistic")


def _text(data):
    return None if data is None else str(data, "utf-8")


def _float(data):
    return struct.unpack("<f", data)[0]


def _floats(data):
    return struct.unpack(f"<{len(data or b'') // 4}f", data or b"")


def _lines(data):
    return [line.strip() for line in str(data or b"", "utf-8").split("\n") if line.strip()]


def _rows(data):
    """Rows of a score calibration: (scale, slope, offset, minimum score or None)."""
    rows = []
    for line in _lines(data):
        numbers = [float(each) for each in line.split(",")]
        if len(numbers) not in (3, 4):
            raise ValueError(f"calibration {line!r} has {len(numbers)} numbers, expected 3 or 4")
        rows.append(tuple((numbers + [None])[:4]))  # noqa: RUF005  (MicroPython has no * here)
    return rows


# Key and value of each kind of fact, enum tflite_fact_kind; those from _FIRST to _LAST belong to
# one entry, "score_calibration".
_KINDS = (
    ("name", _text),
    ("description", _text),
    ("labels", _lines),
    ("mean", _floats),
    ("std", _floats),
    ("transformation", lambda data: _TRANSFORMATIONS[data[0]]),
    ("default", _float),
    ("rows", _rows),
    ("score_threshold", _float),
)
_NAME, _FIRST, _LAST = 0, 5, 7


def read(model):
    """Name, description, inputs and outputs; an empty dict if the model has no TFLite metadata."""
    try:
        facts = model._facts
        metadata = {"inputs": [], "outputs": []} if facts else {}
        entry = metadata
        for subject, kind, data in facts:
            if kind == _NAME and subject:
                entry = {}
                metadata[("inputs", "outputs")[subject - 1]].append(entry)
            key, value = _KINDS[kind]
            inner = _FIRST <= kind <= _LAST
            (entry.setdefault("score_calibration", {}) if inner else entry)[key] = value(data)
        return metadata
    except ValueError as error:
        raise ValueError(f"the model's TFLite metadata is damaged: {error}") from None


def labels(model):
    """Labels of the first output that has some, or the program's own; None if not found."""
    for output in read(model).get("outputs", ()):
        if "labels" in output:
            return output["labels"]
    names = getattr(model, "constants", {}).get("get_labels")  # the native module has no programs
    return None if names is None else list(names)


def calibrate(calibration, index, score):
    """A calibrated score: scale / (1 + e ** -(slope * g(score) + offset)), as in the schema."""
    from math import exp, log

    rows = calibration["rows"]
    if index >= len(rows) or (rows[index][3] is not None and score <= rows[index][3]):
        return calibration["default"]
    scale, slope, offset, _ = rows[index]
    kind = calibration["transformation"]
    if kind != "identity" and not 0 < score < 1:
        return calibration["default"]
    if kind == "log":
        score = log(score)
    elif kind == "inverse_logistic":
        score = log(score) - log(1 - score)
    return scale / (1 + exp(-(slope * score + offset)))
