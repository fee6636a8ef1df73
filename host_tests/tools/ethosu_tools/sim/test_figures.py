# SPDX-License-Identifier: MIT
"""Rules that commands and web page share give equal results on CPython and MicroPython."""

import random
from pathlib import Path

from ethosu_tools.sim import figures

NPUS = ("ethos-u55-128", "ethos-u55-256", "ethos-u85-256")
# Sizes below and above each other, and the limits.
SIZES = (0, 1, 999, 1000, 65_536, 1_048_576, 70_000_000)


def calls(seed, count):
    """Return names of functions with arguments, as the page sends them."""
    choice = random.Random(seed)
    size = lambda: choice.choice(SIZES)  # noqa: E731
    for _ in range(count):
        need = {"npu": choice.choice([None, *NPUS]), "heap": size(), "image": size()}
        need["fast"] = min(need["heap"], size())
        fast = {npu: size() for npu in NPUS if choice.random() < 0.5}
        npus = choice.sample(NPUS, choice.randint(0, 2))
        rom = choice.choice([None, size(), size()])
        yield (
            "compare",
            [need, {"npus": npus, "heap": size(), "reserve": size(), "rom": rom, "fast": fast}],
        )
        cycles = choice.randint(1, 20_000_000)
        system = {
            "clock_hz": choice.choice([32e6, 160e6, 399.6e6, 1e9]),
            "checked": choice.random() < 0.5,
            "outside": choice.choice(["", "", "DDR"]),
            "weights_per_cycle": choice.choice([0, 0.125, 8]),
        }
        arguments = [cycles, choice.randint(1, cycles), size(), system]
        yield "interval", arguments
        row = figures.interval(*arguments) | {"cpu_operators": choice.choice([{}, {"PAD": 1}])}
        yield from ((name, [row]) for name in ("time", "bounds", "frames"))


def rounded(value):
    """Round off the last digit of fractions, which MicroPython prints less exactly."""
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    return float(f"{value:.14g}") if isinstance(value, float) else value


def test_micropython_gives_the_same_numbers_and_words(board):
    made = list(calls(1, 60))
    board.exec(Path(figures.__file__).read_text())
    found = []
    for at in range(0, len(made), 50):  # a program of this size fits a board
        part = made[at : at + 50]
        found += board.ask(
            f"_answer = [globals()[name](*arguments) for name, arguments in {part!r}]"
        )
    expected = [getattr(figures, name)(*arguments) for name, arguments in made]
    assert [*map(rounded, found)] == [*map(rounded, expected)]
    times = [each for each in expected if isinstance(each, dict) and "ms" in each]
    assert len(times) == 60 and all(each["low_ms"] <= each["ms"] for each in times)
    said = {each["status"] for each in expected if isinstance(each, dict) and "status" in each}
    assert said == {figures.RUNS, figures.OTHER_NPU, figures.TOO_LARGE}
    bases = {each["basis"] for each in expected if isinstance(each, dict) and "basis" in each}
    assert bases == {
        figures.CHECKED,
        figures.UNCHECKED,
        figures.EXTERNAL.format(memory="DDR"),
    }


def test_another_npu_is_no_lack_of_bytes():
    need = {"npu": NPUS[0], "heap": 10, "image": 10, "fast": 4}
    room = {"npus": [NPUS[1]], "heap": 100, "reserve": 0, "rom": 100, "fast": {}}
    found = figures.compare(need, room)
    assert (found["status"], found["words"]) == (figures.OTHER_NPU, "other NPU")
    found = figures.compare(need, room | {"npus": NPUS[:1], "reserve": 95})
    assert (found["status"], found["words"]) == (figures.TOO_LARGE, "no: heap -5")
    found = figures.compare(need, room | {"npus": NPUS[:1], "reserve": 94, "fast": {NPUS[0]: 4}})
    assert (found["status"], found["words"], found["used"]["fast"]) == (figures.RUNS, "yes", 4)
