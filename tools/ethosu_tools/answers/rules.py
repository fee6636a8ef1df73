# SPDX-License-Identifier: MIT
"""The rules that apply the limits of runtimes.py to a model, and the verdict in words.

The web page runs this file in MicroPython, which has no dataclasses and no typing: it imports
nothing, and takes the facts of a model as attributes, and a runtime as plain data.

The outputs that Seeed's SSCMA can post-process: Seeed-Studio/SSCMA-Micro@60e2ede,
ModelFactory::create() in sscma/core/model/ma_model_factory.cpp, which tries each kind of model, and
`isValid` of each kind, such as sscma/core/model/ma_model_rtmdet.cpp. Without a match the reply has
code 8 (not supported). Kinds that no other shape than those of an earlier one would match are left
out.
"""

TYPE_CHECKING = False  # mypy takes it as True
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .traits import Subject

    Shapes = Sequence[tuple[int, ...]]

ACCEPTS, REFUSES, NEEDS = "accepts it", "refuses it", "needs"
_LISTED = 3  # a sentence lists at most this many NPUs
_STRIDES = (8, 16, 32)
_SCRATCH = 2  # index of the scratch among the inputs of an operator ethos-u
# tensor_arena_size in the manifests of the package pymicro-wakeword.
_WAKE_WORDS = "microWakeWord's own models have 22,348 to 37,000 bytes in all"


def _commands(subject: "Subject", _: None) -> str:
    text = "the file has commands for an NPU (the operator ethos-u), which a PC does not have"
    return text if subject.npu else ""


def _custom(subject: "Subject", custom: "Sequence[str]") -> str:
    """Check for custom operators of TFLite Micro that the runtime lacks."""
    names = [name for name in subject.cpu if name in custom]
    if not names:
        return ""
    return (
        f'it lacks custom operators of TFLite Micro: {", ".join(names)} ("Encountered unresolved '
        f'custom op: {names[0]}")'
    )


def _rejected(subject: "Subject", _: None) -> str:
    return subject.rejected


def _npu(subject: "Subject", npus: "Sequence[str]") -> str:
    if subject.npu and subject.npu not in npus:
        known = f"one of {len(npus)} others" if len(npus) > _LISTED else " or ".join(npus)
        return f"compiled for {subject.npu}, but the NPU is {known}"
    return ""


def _operators(subject: "Subject", known: "Sequence[str]") -> str:
    missing = ", ".join([name for name in subject.cpu if name not in known])
    why = "" if subject.npu else "the file was not compiled for the NPU, and "
    return missing and f"{why}the resolver of this firmware lacks {missing}"


def _kernels(subject: "Subject", known: "Sequence[str]") -> str:
    missing = ", ".join([name for name in subject.cpu if name not in known])
    return missing and f"TFLite Micro has no kernel for {missing}"


def _short(what: str, size: int, needs: str, need: int) -> str:
    few = f"{need - size:,} too few"
    return f"{what} has {size:,} bytes, {needs} {need:,} ({few})" if need > size else ""


def _arena(subject: "Subject", sizes: "int | dict[str, int]") -> str:
    """Check the arena against a limit: one size, or one for each NPU."""
    size = sizes if isinstance(sizes, int) else sizes.get(subject.npu or "", max(sizes.values()))
    text = _short("its arena", size, "the model needs at least", subject.arena)
    return text and f"{text}, and TFLite Micro's tables some KB more"


def _types(subject: "Subject", known: "Sequence[str]") -> str:
    wrong = sorted({dtype for dtype in subject.dtypes if dtype not in known})
    return f"inputs or outputs of {', '.join(wrong)}" if wrong else ""


def _outputs(subject: "Subject", _: None) -> str:
    if sscma_kind(subject.input_shapes, subject.output_shapes):
        return ""
    inputs, outputs = [
        ", ".join([str(list(shape)) for shape in shapes])
        for shapes in (subject.input_shapes, subject.output_shapes)
    ]
    return (
        f"SSCMA has no post-processing for inputs {inputs} and outputs {outputs}: a model that "
        f"loads ends in code 8. It knows {'; '.join([name for name, _ in KINDS])}; each with one "
        "image whose height is a multiple of 32"
    )


def _pool(subject: "Subject", size: int) -> str:
    return _short("its temporary pool", size, "the NPU's scratch needs", subject.scratch)


def _method_pool(subject: "Subject", size: int) -> str:
    return _short("its method pool", size, "the planned tensors need", subject.planned)


def _build(subject: "Subject", _: None) -> str:
    """List what a user's own firmware must provide."""
    names = (["ethos-u"] if subject.npu else []) + list(subject.cpu)
    more = "some KB for its tables"
    if subject.state:
        more = f"15 to 35 KB for its tables (with {subject.state:,} bytes of state; {_WAKE_WORDS})"
    arena = f"an arena of at least {subject.arena:,} bytes, plus {more}"
    npu = f"an {subject.npu}, " if subject.npu else ""
    return f"{npu}{arena}; in the resolver: {', '.join(names) or 'nothing'}"


# Name of each limit, in the order of reasons, and its rule: why a model exceeds it, or "".
RULES: "tuple[tuple[str, Callable[[Subject, Any], str]], ...]" = (
    ("commands", _commands),
    ("custom", _custom),
    ("rejected", _rejected),
    ("npus", _npu),
    ("operators", _operators),
    ("kernels", _kernels),
    ("arena", _arena),
    ("types", _types),
    ("outputs", _outputs),
    ("pool", _pool),
    ("method_pool", _method_pool),
    ("build", _build),
)


def verdict(subject: "Subject", runtime: "dict[str, Any]") -> "dict[str, Any]":
    """Return whether a runtime ACCEPTS, REFUSES or NEEDS something for a model, and why."""
    reasons = []
    for name, rule in RULES:
        limit = runtime["limits"].get(name)
        text = limit and rule(subject, limit["value"])
        if text:
            said = {"message": limit["message"], "source": limit["source"]}
            reasons.append(dict(said, rule=name, text=text))
    refuses = [reason for reason in reasons if reason["rule"] != "build"]
    found = REFUSES if refuses else NEEDS if reasons else ACCEPTS
    return {"runtime": runtime["name"], "verdict": found, "reasons": reasons}


def sizes(
    tensors: "Sequence[Any]", operators: "Sequence[Any]", renaming: "Sequence[str]"
) -> "dict[str, int]":
    """Bytes of a `.tflite` in TFLite Micro: the NPU's scratch, the variables, and the whole arena.

    tensors: size, and whether it is a constant. operators: name, whether the NPU computes it, and
    the numbers of its inputs and outputs. renaming: operators that may work in place. The arena of
    an uncompiled model has at least what the largest operator reads and writes.
    """
    scratch, largest, variables = 0, 0, {}
    for name, on_npu, inputs, outputs in operators:
        if on_npu:
            scratch = max(scratch, tensors[inputs[_SCRATCH]][0])
        elif name == "READ_VARIABLE":  # each variable is found by its handle
            variables[inputs[0]] = tensors[outputs[0]][0]
        if name not in renaming:
            used = [tensors[at] for at in set(inputs) | set(outputs) if at >= 0]
            largest = max(largest, sum([size for size, constant in used if not constant]))
    state = sum(variables.values())
    return {"scratch": scratch, "state": state, "arena": (scratch or largest) + state}


def answers(
    facts: "dict[str, Any]", graph: "Sequence[Any]", runtimes: "Sequence[dict[str, Any]]"
) -> "list[dict[str, Any]]":
    """Return the verdicts on facts from JSON, each with a sentence and `takes`, a yes or no.

    graph: the arguments of sizes().
    """

    class Facts:
        pass

    subject = Facts()
    for name, value in dict(facts, **sizes(*graph)).items():
        shapes = [tuple(shape) for shape in value] if name.endswith("_shapes") else value
        setattr(subject, name, shapes)
    found = [verdict(subject, runtime) for runtime in runtimes]  # type: ignore[arg-type]
    return [dict(each, sentence=sentence(each), takes=each["verdict"] == ACCEPTS) for each in found]


def sentence(found: "dict[str, Any]") -> str:
    """A verdict in words, with its first reason."""
    if not found["reasons"]:
        return f"{found['runtime']} {found['verdict']}, as far as its known limits show"
    reason = found["reasons"][0]
    said = reason["rule"] != "build" and reason["message"]
    text = reason["text"] + (f' ("{said}")' if said else "")
    colon = "" if found["verdict"] == NEEDS else ":"
    return f"{found['runtime']} {found['verdict']}{colon} {text}"


def _image(shape: "tuple[int, ...]") -> "tuple[int, ...]":
    """Return height and width of an input that all kinds accept; empty for other inputs."""
    if len(shape) != 4 or shape[0] != 1:
        return ()
    size, channels = (shape[1:3], shape[3]) if shape[3] in (1, 3) else (shape[2:4], shape[1])
    return size if channels in (1, 3) and size[0] >= 32 and size[0] % 32 == 0 else ()


def _one_row(height: int, width: int, outputs: "Shapes") -> bool:
    """Recognise classes, points, FOMO's cells and YOLOv5's boxes; the classifier takes all."""
    return len(outputs) == 1 and len(outputs[0]) > 1 and outputs[0][0] == 1 and outputs[0][1] > 1


def _rows(outputs: "Shapes", count: int) -> bool:
    return len(outputs) == count and all(len(each) == 3 and each[0] == 1 for each in outputs)


def _cells(side: int) -> "list[int]":
    """Cells of each stride, the fewest first."""
    return sorted([(side // stride) ** 2 for stride in _STRIDES])


def _per_stride(height: int, width: int, outputs: "Shapes") -> bool:
    """RTMDet and YOLO-World: boxes (4 or 64 values) and classes of each stride, three axes each."""
    if height != width or not _rows(outputs, 6):
        return False
    cells = _cells(width)
    return any(
        sorted([shape[1] for shape in outputs if shape[2] == values]) == cells
        and sorted([shape[1] for shape in outputs if shape[2] != values]) == cells
        for values in (4, 64)
    )


def _pose(height: int, width: int, outputs: "Shapes") -> bool:
    """YOLOv8 pose: 64 values and one score of each stride, and all points."""
    if height != width or not _rows(outputs, 7):
        return False
    cells = _cells(width)
    rest = [shape for shape in outputs if shape[2] not in (1, 64)]
    return (
        all(
            sorted([shape[1] for shape in outputs if shape[2] == values]) == cells
            for values in (1, 64)
        )
        and len(rest) == 1
        and rest[0][2] % 3 == 0
        and rest[0][1] == sum(cells)
    )


def _maps(height: int, width: int, outputs: "Shapes") -> bool:
    """YOLOv8, YOLO11 and YOLO26: six maps with channels first, in pairs or boxes first."""
    if len(outputs) < 6 or any(len(shape) != 4 for shape in outputs[:6]):
        return False
    grids = [width // stride for stride in _STRIDES]
    return any(
        all(
            outputs[box][1] in (4, 64)
            and outputs[box][2:] == outputs[kind][2:] == (grids[at], grids[at])
            for at, (box, kind) in enumerate(pairs)
        )
        for pairs in (((0, 1), (2, 3), (4, 5)), ((0, 3), (1, 4), (2, 5)))
    )


def _detectnet(height: int, width: int, outputs: "Shapes") -> bool:
    """NVIDIA's DetectNet: two maps with a sixteenth of the input's height and width."""
    grid = (height // 16, width // 16)
    maps = all(len(shape) >= 4 and shape[1:3] == grid for shape in outputs)
    return height == width and len(outputs) == 2 and maps


def _segmentation(height: int, width: int, outputs: "Shapes") -> bool:
    """YOLO11 segmentation: rows of boxes, classes and 32 factors, and 32 masks."""
    if len(outputs) != 2 or len(outputs[0]) not in (3, 4) or len(outputs[1]) != 4:
        return False
    rows, masks = outputs
    return (
        rows[0] == 1
        and rows[1] >= 37
        and rows[2] == sum([(width // stride) ** 2 for stride in _STRIDES])
        and masks == (1, 32, width // 4, width // 4)
    )


KINDS: "tuple[tuple[str, Callable[[int, int, Shapes], bool]], ...]" = (
    ("one output with classes, points, FOMO's cells or YOLOv5's boxes", _one_row),
    ("RTMDet or YOLO-World: six outputs [1, cells, values]", _per_stride),
    ("YOLOv8 pose: seven outputs [1, cells, values]", _pose),
    ("YOLOv8, YOLO11 or YOLO26: six maps [1, values, rows, columns]", _maps),
    ("DetectNet: two maps", _detectnet),
    ("YOLO11 segmentation: rows and masks", _segmentation),
)


def sscma_kind(inputs: "Shapes", outputs: "Shapes") -> str:
    """The kind of model that SSCMA takes these shapes for; "": it refuses them."""
    image = _image(inputs[0]) if len(inputs) == 1 else ()
    if image:
        for name, test in KINDS:
            if test(image[0], image[1], outputs):
                return name
    return ""
