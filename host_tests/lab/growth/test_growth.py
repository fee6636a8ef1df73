# SPDX-License-Identifier: MIT
"""Every cost grows linearly or more slowly, counted at small sizes."""

import pytest
from ethosu_tools.answers.validate.results import Result
from ethosu_tools.compile.plan import liveness, placement

from host_tests.lab.growth import __main__ as growth
from host_tests.lab.growth import board, models, pc
from host_tests.lab.growth.series import BYTES, Series, bytecodes, peak_bytes


def series(counts, sizes=(10, 20, 40)):
    return Series("axis", "what", BYTES, sizes, counts)


@pytest.mark.parametrize("axis", growth.AXES)
def test_every_cost_is_linear_or_better(emulator_only, axis):
    found = growth.measure(axis, small=True)
    worse = {each.what: each.exponent for each in found if not each.is_linear}
    assert found and not worse, [each.as_dict() for each in found]


@pytest.mark.parametrize(
    ("counts", "exponent"),
    [
        ((7, 7, 7), 0),
        ((1000, 1010, 1020), 0),
        ((110, 120, 140), 1),
        ((1100, 1400, 2600), 2),
        ((9000, 16000, 30000), 1),  # a large fixed cost
        ((1000, 1007, 1100), None),  # flat at first
        ((1000, 800, 1200), 1),  # falling by 200 means as much noise
    ],
)
def test_the_exponent_is_that_of_the_increments(counts, exponent):
    found = series(counts)
    assert found.exponent > 2 if exponent is None else found.exponent == pytest.approx(exponent)
    assert found.is_linear == (exponent in (0, 1))


def test_n_log_n_passes_and_a_small_quadratic_part_does_not():
    assert series((33, 86, 213)).is_linear  # n log2 n
    assert not series((10 * 50 + 100, 20 * 50 + 400, 40 * 50 + 1600)).is_linear


def test_counts_repeat_and_see_every_instruction():
    def work(size):
        return lambda: [index for index in range(size) if index % 2]

    few, many = bytecodes(work(100)), bytecodes(work(200))
    assert few == bytecodes(work(100)) and 100 < few < many <= 2 * few
    assert bytecodes(work(100), ["another.py"]) == 0
    assert 1_000_000 <= peak_bytes(lambda: bytes(1_000_000)) < 1_100_000


def all_pairs(blocks):
    """The planner's first way to find blocks that are live at the same time."""
    for number, block in enumerate(blocks):
        for other in range(number):
            if block.coexists(blocks[other]):
                yield number, other


def sum_of_sums(cls, blocks):
    """The first sum of a validation: the confusion so far is copied for each block."""
    total = cls()
    for block in blocks:
        merged = {}
        for label, predicted, count in (*total.confusion, *block.confusion):
            merged[label, predicted] = merged.get((label, predicted), 0) + count
        total.confusion = [(*key, count) for key, count in sorted(merged.items())]
    return total


def test_a_quadratic_plan_is_found(monkeypatch):
    sizes = (100, 200, 400)
    made = [models.layers(size) for size in sizes]
    monkeypatch.setattr(placement, "coexisting", all_pairs)
    monkeypatch.setattr(liveness, "coexisting", all_pairs)
    assert not any(each.is_linear for each in pc.of_plan("kernels", sizes, made))


def test_a_quadratic_validation_is_found(emulator_only, monkeypatch):
    monkeypatch.setattr(Result, "total", classmethod(sum_of_sums))
    assert not any(each.is_linear for each in growth.measure("samples", small=True))


def test_a_quadratic_cost_on_the_board_is_found(emulator_only, monkeypatch):
    """Each model is run once for each model that is loaded."""
    once = "for model in loaded:\n            model.run_into()"
    assert once in board._CODE
    each = "for model in loaded:\n            for _ in loaded:\n                model.run_into()"
    monkeypatch.setattr(board, "_CODE", board._CODE.replace(once, each))
    worse = [each.what for each in growth.measure("models", small=True) if not each.is_linear]
    assert worse == [board.RUN_ALL]


def test_the_script_prints_and_writes_the_table(lab, tmp_path):
    page = tmp_path / "growth.md"
    code, out, _ = lab(growth, "boards", "--small", "--page", page, "--json")
    (row,) = out["series"]
    assert code == 0 and row["linear"] and row["what"] == pc.TAKE
    text = page.read_text()
    assert text.startswith(growth.INTRODUCTION) and f"| {row['counts'][-1]:,} |" in text
    code, out, _ = lab(growth, "boards", "--small")
    assert code == 0 and out.startswith("Boards in a pool\n") and out.rstrip().endswith("yes")
    code, _, err = lab(growth, "board")
    assert code == 2 and "'board' does not grow: expected any of bytes, " in err


def test_the_page_in_the_docs_has_the_form_of_the_command(repo):
    """A cost that is worse than linear there is one whose cause the page names."""
    text = (repo / "docs/growth.md").read_text()
    assert text.startswith(growth.INTRODUCTION)
    assert all(f"## {axis.title}\n" in text for axis in growth.AXES.values())
    worse = [line.split("|")[1].strip() for line in text.splitlines() if line.endswith("| NO |")]
    assert set(worse) <= {what for _, what in growth.NOTES}
    assert all(f"{what}: {note}" in text for (_, what), note in growth.NOTES.items())
