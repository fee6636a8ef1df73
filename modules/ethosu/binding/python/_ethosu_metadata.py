# SPDX-License-Identifier: MIT
"""TFLite metadata of a model: labels, normalisation, score calibration.

Source of the layout: metadata_schema.fbs of tensorflow/tflite-support, identifier "M001". The
associated files are a ZIP archive, not compressed, at the end of the model's file.
"""

import struct

_TRANSFORMATIONS = ("identity", "log", "inverse_logistic")
_AXIS_LABELS, _VALUE_LABELS, _CALIBRATION = 2, 3, 4
# ModelMetadata, SubGraphMetadata, TensorMetadata: fields by number.
_NAME, _DESCRIPTION, _GRAPHS = 0, 1, 3
_INPUTS, _OUTPUTS = 2, 3
_UNITS, _FILES = 4, 6
_ARCHIVE_TAIL = 22 + 1024
# Bytes that may be read for each byte of the metadata and its files: they may name one table, or
# one file, any number of times.
_READS = 8


class _Budget:
    """Bytes that may still be read."""

    def __init__(self, size):
        self.left = _READS * size

    def spend(self, size):
        self.left -= size
        if self.left < 0:
            raise ValueError("it names its parts so often that reading it would take too long")


class _Table:
    """A table of a flatbuffer."""

    def __init__(self, data, at, budget):
        budget.spend(8)  # its place in a vector, and its own first word
        self.data = data
        self.at = at
        self.budget = budget
        self.fields = at - struct.unpack_from("<i", data, at)[0]

    def field(self, number):
        """Where a field is; None: it has its default."""
        size = struct.unpack_from("<H", self.data, self.fields)[0]
        slot = 4 + 2 * number
        offset = struct.unpack_from("<H", self.data, self.fields + slot)[0] if slot < size else 0
        return self.at + offset if offset else None

    def number(self, number, kind, default=0):
        at = self.field(number)
        return default if at is None else struct.unpack_from(kind, self.data, at)[0]

    def vector(self, number):
        """Place of the first element, and how many there are."""
        at = self.field(number)
        if at is None:
            return 0, 0
        at += struct.unpack_from("<I", self.data, at)[0]
        count = struct.unpack_from("<I", self.data, at)[0]
        if count > len(self.data):
            raise ValueError("a vector is longer than the metadata")
        return at + 4, count

    def text(self, number):
        at, count = self.vector(number)
        self.budget.spend(count)
        return str(bytes(self.data[at : at + count]), "utf-8") if at else None

    def floats(self, number):
        at, count = self.vector(number)
        self.budget.spend(4 * count)
        return struct.unpack_from(f"<{count}f", self.data, at) if at else ()

    def tables(self, number):
        at, count = self.vector(number)
        return [self._to(at + 4 * i) for i in range(count)]

    def table(self, number):
        return self._to(self.field(number))

    def _to(self, at):
        to = at + struct.unpack_from("<I", self.data, at)[0]
        return _Table(self.data, to, self.budget)


def _archive(file):
    """Contents of the archive at the end of a file, by name: together no more than the file."""
    tail = bytes(file[max(0, len(file) - _ARCHIVE_TAIL) :])
    at = tail.rfind(b"PK\5\6")
    if at < 0:
        return {}
    count, size, offset = struct.unpack_from("<HII", tail, at + 10)
    directory = len(file) - len(tail) + at - size
    shift = directory - offset  # the archive's own positions may begin at its start
    found = {}
    left = len(file)
    for _ in range(count):
        head = bytes(file[directory : directory + 46])
        method, packed, name, extra, note = struct.unpack("<10xH8xI4xHHH12x", head)
        start = struct.unpack_from("<I", head, 42)[0] + shift
        left -= 46 + name + packed
        if head[:4] != b"PK\1\2" or start < 0 or left < 0:
            raise ValueError("its directory is damaged")
        if method == 0:
            local = bytes(file[start : start + 30])
            begin = start + 30 + sum(struct.unpack_from("<HH", local, 26))
            title = str(bytes(file[directory + 46 : directory + 46 + name]), "utf-8")
            found[title] = bytes(file[begin : begin + packed])
        directory += 46 + name + extra + note
    return found


def _lines(data, budget):
    budget.spend(len(data))
    return [line.strip() for line in str(data, "utf-8").split("\n") if line.strip()]


def _calibration(unit, data):
    """Rows (scale, slope, offset, least score or None), and what is done to a score before."""
    rows = []
    for line in _lines(data or b"", unit.budget):
        numbers = [float(each) for each in line.split(",")]
        if len(numbers) not in (3, 4):
            raise ValueError(f"calibration {line!r} has {len(numbers)} numbers, 3 or 4 expected")
        rows.append(tuple((numbers + [None])[:4]))  # noqa: RUF005  (MicroPython has no * here)
    kind = unit.number(0, "<B")
    return {"transformation": _TRANSFORMATIONS[kind], "default": unit.number(1, "<f"), "rows": rows}


def _tensor(table, archive):
    """What is said of one input or output."""
    told = {"name": table.text(0), "description": table.text(1)}
    files = {each.number(2, "<b"): archive.get(each.text(0)) for each in table.tables(_FILES)}
    labels = files.get(_AXIS_LABELS, files.get(_VALUE_LABELS))
    if labels is not None:
        told["labels"] = _lines(labels, table.budget)
    for unit in table.tables(_UNITS):
        kind = unit.number(0, "<B")
        if kind == 1:
            options = unit.table(1)
            told["mean"], told["std"] = options.floats(0), options.floats(1)
        elif kind == 2:
            told["score_calibration"] = _calibration(unit.table(1), files.get(_CALIBRATION))
        elif kind == 3:
            told["score_threshold"] = unit.table(1).number(0, "<f")
    return told


def _tensors(graph, number, what, archive, expected):
    """What is said of the inputs or outputs: of all that the model has, or of none."""
    count = graph.vector(number)[1]
    if count not in (0, expected):
        raise ValueError(f"it describes {count} {what}, the model has {expected}")
    return [_tensor(each, archive) for each in graph.tables(number)]


def read(model):
    """Name, description, inputs and outputs; an empty dict: the model has no TFLite metadata."""
    data = model.metadata("TFLITE_METADATA")
    if data is None:
        return {}
    try:
        if bytes(data[4:8]) != b"M001":
            raise ValueError(f"its identifier is {bytes(data[4:8])}, b'M001' expected")
        archive = _archive(model._file)
        budget = _Budget(len(data) + sum(len(each) for each in archive.values()))
        root = _Table(data, struct.unpack_from("<I", data, 0)[0], budget)
        told = {"name": root.text(_NAME), "description": root.text(_DESCRIPTION)}
        for graph in root.tables(_GRAPHS)[:1]:
            told["inputs"] = _tensors(graph, _INPUTS, "inputs", archive, len(model.inputs))
            told["outputs"] = _tensors(graph, _OUTPUTS, "outputs", archive, len(model.outputs))
        return told
    except (ArithmeticError, IndexError, TypeError, ValueError) as error:
        raise ValueError(f"the model's TFLite metadata is damaged: {error}") from None


def labels(model):
    """Labels of the first output that has some, or the program's own; None: there are none."""
    for each in read(model).get("outputs", ()):
        if "labels" in each:
            return each["labels"]
    found = getattr(model, "constants", {}).get("get_labels")  # the native module has no programs
    return None if found is None else list(found)


def calibrate(calibration, index, score):
    """A calibrated score: scale / (1 + e ** -(slope * g(score) + offset)), as the schema says."""
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
