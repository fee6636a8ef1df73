# SPDX-License-Identifier: MIT
"""The rules for whether a model fits a board and how long it takes, for data and for text.

The web page runs this file in MicroPython, so it imports nothing, and takes and returns JSON types;
the page and the commands print the same. Sizes are bytes, by resource: "heap", "fast", "rom".
"""

TYPE_CHECKING = False  # mypy takes it as True
if TYPE_CHECKING:
    from typing import Any

RUNS, OTHER_NPU, TOO_LARGE = "runs", "other NPU", "too large"
# This is a tuple because MicroPython's dicts have no order.
NAMES = (("heap", "heap"), ("fast", "fast memory"), ("rom", "/rom"))
# Uncertainty of an estimate, which docs/latency.md compares with measurements. A small network has
# many operations for its run time, and the fixed cost per operation is the least certain part.
SHORT_MS, SHORT_ERROR, ERROR = 0.2, 0.30, 0.20
CHECKED = "checked against measurements"
UNCHECKED = "not checked against any measurement: at least the time of the NPU itself"
EXTERNAL = "a lower bound: this project has no measurement with weights or tensors in {memory}"


def compare(need: "dict[str, Any]", room: "dict[str, Any]", in_heap: int = 0) -> "dict[str, Any]":
    """Return whether a model fits a board, which bytes are missing, and its shares of the board.

    need: "npu" (None if it needs none), "heap", "image" (of the file in /rom), and "fast", the part
    of the heap that may be in fast memory. room: "npus", "heap", "reserve" (a part of the heap),
    "rom" (None if unknown), and "fast", the fast memory of each NPU. in_heap: bytes of the file if
    the program reads it into the heap.
    """
    fast = room["fast"].get(need["npu"] or "", 0)
    apart = need["fast"] if fast else 0
    whole = {"heap": room["heap"], "fast": fast, "rom": room["rom"]}
    left = dict(whole, heap=room["heap"] - room["reserve"])
    used = {"heap": need["heap"] - apart + in_heap, "fast": apart, "rom": need["image"]}
    known = [name for name, _ in NAMES if left[name] is not None]
    lacks = {name: used[name] - left[name] for name in known if used[name] > left[name]}
    other = bool(need["npu"]) and need["npu"] not in room["npus"]
    found = {
        "status": OTHER_NPU if other else TOO_LARGE if lacks else RUNS,
        "lacks": lacks,
        "used": used,
        "shares": {name: used[name] / max(1, whole[name]) for name in known},
    }
    return dict(found, words=words(other, lacks))


def words(other: bool, lacks: "dict[str, int]") -> str:
    """Format the comparison for a cell of a table: yes, another NPU, or what is missing."""
    parts = [OTHER_NPU] if other else []
    parts += [f"{title} -{lacks[name]:,}" for name, title in NAMES if name in lacks]
    return ("no: " if lacks else "") + ", ".join(parts) if parts else "yes"


def interval(cycles: int, ideal: int, constants: int, system: "dict[str, Any]") -> "dict[str, Any]":
    """Return the time in ms, its bounds ("high_ms" is None if unknown), and their basis.

    ideal: cycles with memories that never wait; constants: bytes of NPU constants in the file.
    system: "clock_hz", "checked" (by a measurement of a chip), "outside", the external memory used
    or "", and "weights_per_cycle", bytes per cycle if that memory holds the constants, else 0.
    """
    per_ms = system["clock_hz"] / 1e3
    ms = cycles / per_ms
    low, high = ideal / per_ms, None
    if system["outside"]:
        basis = EXTERNAL.format(memory=system["outside"])
        if system["weights_per_cycle"]:
            # A file may hold constants that no operation reads.
            low = min(ms, max(low, constants / system["weights_per_cycle"] / per_ms))
    elif not system["checked"]:
        basis = UNCHECKED
    else:
        error = SHORT_ERROR if ms < SHORT_MS else ERROR
        low, high, basis = ms * (1 - error), ms * (1 + error), CHECKED
    return {"ms": ms, "low_ms": low, "high_ms": high, "basis": basis}


def time(row: "dict[str, Any]") -> str:
    """Format the time of an interval, as far as it is known."""
    if row["high_ms"] is None and row["basis"] != UNCHECKED:
        return f"at least {row['low_ms']:.3g} ms"
    return f"{row['ms']:.3g} ms ({bounds(row)})"


def bounds(row: "dict[str, Any]") -> str:
    """Format both bounds of an interval, or the lower one."""
    if row["high_ms"] is None:
        return f">= {row['low_ms']:.3g} ms"
    return f"{row['low_ms']:.3g} to {row['high_ms']:.3g} ms"


def rate(row: "dict[str, Any]") -> "tuple[float, bool]":
    """Return sequential inferences per second, and whether this is only an upper limit.

    It is a limit if the time is a lower bound, or lacks the time of operators on the CPU.
    """
    most = row["high_ms"] is None or bool(row["cpu_operators"])
    return 1e3 / row["low_ms" if most else "ms"], most


def frames(row: "dict[str, Any]") -> str:
    """Format the rate."""
    count, most = rate(row)
    return f"{'at most ' if most else ''}{round(count):,} frames/s"
