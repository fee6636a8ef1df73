# SPDX-License-Identifier: MIT
"""The self-test of a bundled ExecuTorch program (.bpte): its cases.

Field numbers: schema/bundled_program_schema.fbs of pytorch/executorch 1.5.
"""
# ruff: noqa: B905  (MicroPython's zip)

from array import array
from struct import unpack_from

# Numbers of ExecuTorch's ScalarType, and typecodes of `array`.
_TYPECODES = {0: "B", 1: "b", 2: "h", 3: "i", 4: "q", 6: "f", 7: "d", 11: "B", 28: "I"}


class _Budget:
    """Bytes that may still be read: a file may name one table any number of times."""

    def __init__(self, size):
        self.left = size

    def spend(self, size):
        self.left -= size
        if self.left < 0:
            raise ValueError("the bundle has fewer bytes than its cases name")


class _Row:
    """A table of a FlatBuffer, which anybody may have written: each place is checked."""

    def __init__(self, data, at, budget):
        self.data = data
        self.at = at
        self.budget = budget

    def number(self, at, kind, size=4):
        if not 0 <= at <= len(self.data) - size:
            raise ValueError(f"the bundle is malformed or truncated at byte {at}")
        return unpack_from(kind, self.data, at)[0]

    def place(self, field):
        vtable = self.at - self.number(self.at, "<i")
        if 4 + 2 * field >= self.number(vtable, "<H", 2):
            return 0
        offset = self.number(vtable + 4 + 2 * field, "<H", 2)
        return self.at + offset if offset else 0

    def follow(self, at):
        self.budget.spend(4)
        return _Row(self.data, at + self.number(at, "<I"), self.budget)

    def table(self, field):
        return self.follow(self.place(field) or len(self.data))

    def byte(self, field):
        at = self.place(field)
        return self.number(at, "B", 1) if at else 0

    def items(self, field, size):
        """Where the items of a vector lie."""
        if not self.place(field):
            return range(0)
        vector = self.table(field)
        count = self.number(vector.at, "<I")
        start = vector.at + 4
        if count * size > len(self.data) - start:
            raise ValueError(f"the bundle is malformed or truncated at byte {vector.at}")
        self.budget.spend(count * size)
        return range(start, start + count * size, size)

    def bytes(self, field):
        items = self.items(field, 1)
        return self.data[items.start : items.stop] if items else b""


def _copy(out, at, raw, source, width, dimensions, sizes, strides):
    """Write elements one after the other, in another order of their dimensions."""
    first = dimensions[0]
    for _ in range(sizes[first]):
        if len(dimensions) > 1:
            at = _copy(out, at, raw, source, width, dimensions[1:], sizes, strides)
        else:
            out[at : at + width] = raw[source : source + width]
            at += width
        source += strides[first]
    return at


def _value(case, at, tensor):
    """The bytes of a case's tensor, in the order of the program's."""
    union = case.follow(at)
    if union.byte(0) != 1:
        raise ValueError("a case has a value that is no tensor")
    row = union.table(1)
    sizes = [row.number(item, "<i") for item in row.items(1, 4)]
    order = tuple(row.bytes(3)) or tuple(range(len(sizes)))
    raw, wanted = row.bytes(2), tensor.order
    width = len(raw)
    strides = [0] * len(sizes)
    if sorted(order) == list(range(len(sizes))):
        step = 1
        for dimension in reversed(order):
            strides[dimension] = step
            step *= sizes[dimension]
        width = width // step if step else 0
    shape = tuple(sizes[d] for d in wanted) if len(wanted) == len(sizes) else sizes
    typecode = _TYPECODES.get(row.byte(0))
    if shape != tensor.shape or typecode != tensor.dtype or len(raw) != len(bytes(tensor.data)):
        raise ValueError(f"a case has {typecode} {sizes}, the program {tensor}")
    if order == wanted or not sizes:
        return bytearray(raw)
    out = bytearray(len(raw))
    _copy(out, 0, raw, 0, width, wanted, sizes, [stride * width for stride in strides])
    return out


def _equal(tensor, expected, rtol, atol):
    found = bytes(tensor.data)
    if found == expected or tensor.dtype not in "fd":
        return found == expected
    pairs = zip(array(tensor.dtype, found), array(tensor.dtype, bytes(expected)))
    return all(
        a == b or abs(a - b) <= atol + rtol * abs(b) or (a != a and b != b) for a, b in pairs
    )


def run_cases(model, file, rtol, atol):
    """Run the cases of a bundled program (.bpte)."""
    root = _Row(file, 0, _Budget(2 * len(file))).follow(0)
    count = 0
    suites, methods = root.items(1, 4), len(model.methods)
    if len(suites) > methods:
        raise ValueError(f"the bundle has cases for {len(suites)} methods, the program {methods}")
    for at in suites:
        suite = root.follow(at)
        name = bytes(suite.bytes(0)).decode()
        tested = model if name == model.info()["method"] else model.method(name)
        tested.reset()
        for case_at in suite.items(1, 4):
            case = suite.follow(case_at)
            inputs, outputs = case.items(0, 4), case.items(1, 4)
            if len(inputs) != len(tested.inputs) or len(outputs) != len(tested.outputs):
                raise ValueError(f"case {count} has {len(inputs)} inputs, {len(outputs)} outputs")
            tested.run_into([_value(case, *each) for each in zip(inputs, tested.inputs)])
            for index, (place, tensor) in enumerate(zip(outputs, tested.outputs)):
                if not _equal(tensor, _value(case, place, tensor), rtol, atol):
                    raise RuntimeError(f"output {index} of case {count} ({name}) differs")
            count += 1
    if count == 0:
        raise ValueError("the bundle has no cases")
    model.reset()
    return True
