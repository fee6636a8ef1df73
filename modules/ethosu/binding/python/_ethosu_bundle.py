# SPDX-License-Identifier: MIT
"""The self-test of a bundled ExecuTorch program: runs its cases."""
# ruff: noqa: B905  (MicroPython's zip)

from array import array


def _copy(out, at, raw, source, width, dimensions, shape, strides):
    """Write elements in another order of their dimensions."""
    first = dimensions[0]
    for _ in range(shape[first]):
        if len(dimensions) > 1:
            at = _copy(out, at, raw, source, width, dimensions[1:], shape, strides)
        else:
            out[at : at + width] = raw[source : source + width]
            at += width
        source += strides[first]
    return at


def _value(value, tensor):
    """The bytes of a case's tensor, in the memory order of the program."""
    typecode, stored, order, raw = value
    rank = len(order)
    shape = [0] * rank  # both are by dimension
    strides = [0] * rank
    width = len(raw)
    for size in stored:
        width = width // size if size else 0
    step = width
    for size, dimension in zip(reversed(stored), reversed(order)):
        shape[dimension], strides[dimension] = size, step
        step *= size
    wanted = tensor.order
    if (
        typecode != tensor.dtype
        or len(wanted) != rank
        or tuple(shape[each] for each in wanted) != tensor.shape
    ):
        raise ValueError(f"a case has {typecode} {shape}, the program {tensor}")
    if order == wanted:
        return raw
    out = bytearray(len(raw))
    _copy(out, 0, raw, 0, width, wanted, shape, strides)
    return out


def _equal(tensor, expected, rtol, atol):
    found = bytes(tensor.data)
    if found == expected or tensor.dtype not in "fd":
        return found == expected
    pairs = zip(array(tensor.dtype, found), array(tensor.dtype, bytes(expected)))
    return all(
        a == b or abs(a - b) <= atol + rtol * abs(b) or (a != a and b != b) for a, b in pairs
    )


def run_cases(model, rtol, atol):
    """Run the cases of a bundled program."""
    method = model.info()["method"]
    tested, name, count = model, method, 0
    while (case := model._case(count)) is not None:
        if count == 0 or case[0] != name:
            name = case[0]
            tested = model if name == method else model.method(name)
            tested.reset()
        _, inputs, outputs = case
        if len(inputs) != len(tested.inputs) or len(outputs) != len(tested.outputs):
            raise ValueError(f"case {count} has {len(inputs)} inputs, {len(outputs)} outputs")
        tested.run_into([_value(*each) for each in zip(inputs, tested.inputs)])
        for index, (value, tensor) in enumerate(zip(outputs, tested.outputs)):
            if not _equal(tensor, _value(value, tensor), rtol, atol):
                raise RuntimeError(f"output {index} of case {count} ({name}) differs")
        count += 1
    if count == 0:
        raise ValueError("the bundle has no cases")
    model.reset()
    return True
