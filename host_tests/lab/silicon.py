# SPDX-License-Identifier: MIT
"""Compare latency estimates with measurements of chips."""

import argparse
import sys
from pathlib import Path
from typing import Any

from ethosu_tools.answers import points, views
from ethosu_tools.answers.points import Point, Result
from ethosu_tools.base.errors import InputError
from ethosu_tools.base.ui import Ui

from host_tests.lab import script

EPILOG = """\
The models belong to third parties and are not part of this project: copy them into a folder, and
pass it with --models. Points whose model is missing are listed, but not included in the statistics.
A model that is published as C source is found as NAME.cpp. `ethosu profile --save` adds points of
your own board.
"""
_HEAD = ("point", "chip", "NPU", "model", "weights", "measured ms", "estimated ms", "error",
         "left out", "inside", "known")  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--models",
        type=Path,
        action="append",
        default=[],
        metavar="FOLDER",
        help="folder with models; may be repeated",
    )
    parser.add_argument("--points", type=Path, metavar="CSV", help="additional points of yours")


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Estimate each point whose model is available."""
    measured = points.published() + (points.read(args.points) if args.points else [])
    results: list[Result] = []
    missing: list[Point] = []
    with ui.progress("points") as update:
        for done, point in enumerate(measured):
            update(done, len(measured))
            model = points.find_model(point, args.models)
            if model is None:
                missing.append(point)
            else:
                results.append(points.compare(point, model))
    if not results:
        raise InputError(
            f"the folders of --models contain no model of the {len(missing)} points: "
            + ", ".join(sorted({point.model for point in missing}))
        )
    return {
        "points": [_row(each, results) for each in results],
        "missing": [vars(point) for point in missing],
        "mean_error": points.mean_error(results),
        "largest_error": max((each.error for each in results), key=abs),
        "mean_limit": points.MEAN_LIMIT,
        "limit": points.LIMIT,
    }


def _row(result: Result, results: list[Result]) -> dict[str, Any]:
    return {
        **vars(result.point),
        "estimated_ms": result.estimated_ms,
        "error": result.error,
        "left_out": points.left_out(result, results),
        "inside": result.inside,
    }


def render(data: dict[str, Any]) -> str:
    """One line per point."""
    rows = [
        (
            row["id"],
            row["chip"],
            row["npu"],
            row["model"],
            row["weights"],
            f"{row['measured_ms']:.3f}",
            f"{row['estimated_ms']:.3f}",
            f"{row['error']:+.1%}",
            "" if row["left_out"] is None else f"{row['left_out']:+.1%}",
            "yes" if row["inside"] else "NO",
            row["known"],
        )
        for row in data["points"]
    ]
    lines = [
        views.text(_HEAD, rows, "measured ms", "estimated ms", "error", "left out"),
        "",
        f"error      {data['mean_error']:.1%} on average, {data['largest_error']:+.1%} at most",
        "left out   the error after scaling by the mean error of other chips and models",
        "known      available when the rules were chosen",
        *(f"source {row['id']:<3} {row['source']}" for row in data["points"]),
    ]
    lines += [f"missing    {each['id']}: {each['model']} ({each['source']})"
              for each in data["missing"]]  # fmt: skip
    return "\n".join(lines)


if __name__ == "__main__":
    script.main(sys.modules[__name__])
