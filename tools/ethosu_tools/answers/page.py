# SPDX-License-Identifier: MIT
"""The page of `ethosu check --html`: a single file without scripts or external resources."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from ..base import svg
from ..compile import leftover
from ..model import Graph, Operator
from ..sim import fit
from ..sim.table import Layer
from . import answer, text, views
from .pictures import memory, picture, roofline
from .subject import Subject

PAGE = """\
:root { color-scheme: light dark }
body { font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 1200px;
  padding: 0 16px 48px; background: #fff; color: #222 }
h1 { font-size: 24px; overflow-wrap: anywhere } h2 { font-size: 18px; margin: 32px 0 8px }
p, li { overflow-wrap: anywhere }
.wide { overflow-x: auto } .plot svg { max-width: 760px }
svg { display: block; width: 100%; max-width: 1200px; height: auto }
.bars { display: grid; grid-template-columns: minmax(0, 17em) 1fr; gap: 2px 8px; font-size: 13px }
.bars .name { text-align: right; overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
.bars .bar { display: flex; height: 14px; align-self: center } .bars .key { grid-column: 1 / -1 }
.key i { display: inline-block; width: 12px; height: 12px; margin: 0 5px 0 14px }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(max(140px, 22%), 1fr));
  gap: 8px }
.facts div { border: 1px solid #ccc; border-radius: 6px; padding: 8px; overflow-wrap: anywhere }
.facts b { display: block; font-size: 16px }
.verdict { font-size: 18px; overflow-wrap: anywhere }
.good { color: #1e7b3a } .bad { color: #c0392b } .unsure { color: #8a5a00 }
table { border-collapse: collapse; font-size: 13px; white-space: nowrap }
th, td { padding: 3px 10px 3px 0; text-align: right; border-bottom: 1px solid #ddd }
th:first-child, td:first-child, th:nth-child(2), td:nth-child(2) { text-align: left }
td:first-child { white-space: normal; overflow-wrap: anywhere; min-width: 16em; max-width: 32em }
.boards td:first-child { min-width: 0 }
@media (max-width: 700px) {
  table, tbody { display: block }
  tr { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); padding: 4px 0;
    border-bottom: 1px solid #8886; column-gap: 8px }
  th, td { border: 0; text-align: left; white-space: normal; overflow-wrap: anywhere; padding: 0 }
  th:first-child, td:first-child { grid-column: 1 / -1; max-width: none; font-weight: 600 }
  .boards tr { grid-template-columns: 7.5em 7em minmax(0, 1fr) }
  .boards td:nth-child(2) { white-space: nowrap }
  .bars { grid-template-columns: 1fr } .bars .name { text-align: left; margin-top: 4px }
  .map text { font-size: 18px } .map .name { font-size: 13px } .plot text { font-size: 17px }
  .plot .heading { font-size: 14px }
  .map .time:nth-of-type(even) { display: none }
}
@media (prefers-color-scheme: dark) {
  body { background: #16191d; color: #ddd }
  .facts div, th, td { border-color: #3a424c }
  .good { color: #62c583 } .bad { color: #ef7a6c } .unsure { color: #e0b050 }
}"""
_HEAD = ("layer", "bound", "share", "cycles", "MACs", "MAC use", "read", "written")
# Maximum number of layers named in a summary.
_NAMED = 3


def build(subject: Subject, data: dict[str, Any]) -> str:
    """The whole page; `data` is the answer of `ethosu check`, the subject its first row."""
    title = (
        f"{Path(str(subject.file)).name} on {subject.system.npu if subject.estimate else 'the CPU'}"
    )
    npu = [layer for layer in subject.layers if layer.on_npu]
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>{svg.STYLE}\n{PAGE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        *_answer(data),
        *_left(data),
        "<h2>Details</h2>",
        _facts(subject, data["boards"][0]["need"]),
        "<h2>Layers</h2>",
        f"<p>{escape(_summary(subject))}</p>",
        _wide(_table(subject), "layers"),
        *(f"<p>{escape(line)}</p>" for line in _without_layer(subject)),
    ]
    if subject.estimate:
        parts += [
            "<h2>Cycles of each layer, by limiting unit</h2>",
            _bars([(each.name, each.bounds) for each in npu], "cycles", svg.UNITS),
            "<h2>Traffic of each layer, by memory</h2>",
            _bars([(each.name, _traffic(each)) for each in npu], "bytes", svg.MEMORIES),
            "<h2>Roofline</h2>",
            _wide(roofline.draw(subject.estimate, roofline.points(npu)), "plot"),
            f"<p>{escape(_not_in_roofline(npu))}</p>",
        ]
    parts.append("<h2>Memory over time</h2>")
    parts += [_wide(picture.draw_svg(row, style=""), "map") for row in memory.pictures(subject)]
    parts.append(f"<p>{escape(_copies(subject))}</p></body></html>\n")
    # SVG embedded in HTML needs no namespace, which looks like an external address.
    return "\n".join(parts).replace(' xmlns="http://www.w3.org/2000/svg"', "")


def _wide(content: str, kind: str = "") -> str:
    return f'<div class="{f"wide {kind}".strip()}">{content}</div>'


def _bars(
    rows: Sequence[tuple[str, Mapping[str, float]]], unit: str, palette: Sequence[str]
) -> str:
    """A horizontal bar per row; the longest takes the whole width."""
    parts = sorted({part for _, values in rows for part, value in values.items() if value})
    colour = {part: palette[index % len(palette)] for index, part in enumerate(parts)}
    longest = max((sum(values.values()) for _, values in rows), default=0) or 1
    keys = (f'<i style="background:{colour[part]}"></i>{escape(part)}' for part in parts)
    lines = [f'<div class="bars"><span class="key">{"".join(keys)}</span>']
    for name, values in rows:
        pieces = (
            f'<i style="width:{100 * value / longest:.2f}%;background:{colour[part]}" '
            f'title="{escape(name)}: {value:,.0f} {unit}, {escape(part)}"></i>'
            for part, value in values.items()
            if value
        )
        lines.append(f'<span class="name" title="{escape(name)}">{escape(name)}</span>')
        lines.append(f'<span class="bar">{"".join(pieces)}</span>')
    return "\n".join([*lines, "</div>"])


def _answer(data: dict[str, Any]) -> Iterator[str]:
    """Where it runs, how exactly and how fast."""
    runs = any(row["runs"] for row in data["boards"])
    wrong = any(run["exact"] is False for run in data["runs"])
    proven = all(run["exact"] for run in data["runs"])
    kind = "bad" if wrong or not runs else "good" if proven else "unsure"
    yield f'<p class="verdict {kind}"><b>{_text(data["verdict"])}</b></p>'
    first = data["boards"][0]
    yield f"<p>{escape(answer.speed(first))}</p>"
    head, *rows = answer.cells(data)
    yield _wide(views.html(head, rows), "boards")
    yield from (f"<p>{_text(note)}</p>" for note in answer.notes(data))
    if first["used"]:
        yield f"<p>Fit: {escape(fit.describe(first))}</p>"


def _left(data: dict[str, Any]) -> Iterator[str]:
    """Return Vela's reasons why operators are on the CPU."""
    if rows := leftover.text(data["leftover"]):
        yield "<h2>Left to the CPU</h2><ul>"
        for first, *rule in rows:
            yield f"<li>{'<br>'.join(map(escape, (first, *rule)))}</li>"
        yield "</ul><p><code>ethosu compile --try</code> tries what brings them to the NPU.</p>"


def _text(sentence: str) -> str:
    """Format a sentence with commands between backquotes."""
    return re.sub("`(.+?)`", r"<code>\1</code>", escape(sentence))


def _facts(subject: Subject, need: Mapping[str, int]) -> str:
    cells = [
        ("NPU", subject.system.npu if subject.estimate else "none: the CPU computes everything")
    ]
    if subject.estimate:
        estimate = subject.estimate.as_dict()
        peak = views.peak(subject.system.npu)
        macs = sum(layer.macs for layer in subject.layers)
        cells += [
            (
                f"estimate, {subject.system.name}, {estimate['clock_mhz']:g} MHz",
                text.figure(estimate),
            ),
            ("NPU cycles", f"{subject.cycles:,}"),
            (
                f"MAC utilisation, {peak} per cycle",
                f"{macs / max(1, subject.cycles * peak):.0%}",
            ),
        ]
    fast = f", with {need['fast']:,} of fast scratch" if need["fast"] else ""
    cells += [
        ("file", f"{need['file']:,} bytes"),
        ("arena" + fast, f"{need['arena']:,} bytes"),
    ]
    lines = (f"<div>{escape(a)}<b>{escape(b)}</b></div>" for a, b in cells)
    return f'<div class="facts">{"".join(lines)}</div>'


def _table(subject: Subject) -> str:
    peak = views.peak(subject.system.npu)
    rows = [views.as_dict(layer, subject.cycles, peak) for layer in subject.layers]
    return views.html(_HEAD, views.cells(rows, _HEAD))


def _summary(subject: Subject) -> str:
    """List the slowest layers."""
    rows = [row for row in subject.layers if row.cycles]
    if not rows:
        return "The CPU computes every layer; the estimate covers the NPU only."
    rows.sort(key=lambda row: row.cycles, reverse=True)
    named = [
        f"{row.name} ({row.cycles / max(1, subject.cycles):.0%}, limited by {row.bound})"
        for row in rows[:_NAMED]
    ]
    return f"The slowest layers: {'; '.join(named)}."


def _without_layer(subject: Subject) -> Iterator[str]:
    """Name the source's operators that have no layer, as Vela merged or replaced them."""
    named = {layer.name.split(" ")[0] for layer in subject.layers}
    whole = {layer.name for layer in subject.layers}  # layers on the CPU have no number
    graph = subject.source.graph if subject.source else None
    operators = graph.operators if graph else ()
    gone = [
        f"{n} {each.name}"
        for n, each in enumerate(operators)
        if graph and str(n) not in named and f"{each.name} {_output(graph, each)}" not in whole
    ]
    if gone and len(gone) < len(operators):
        yield f"Without a row of their own, as Vela merged or replaced them: {', '.join(gone)}."


def _output(graph: Graph, operator: Operator) -> str:
    """The name of the first output; "" if there is none."""
    return next((graph.tensors[at].name for at in operator.outputs[:1] if at >= 0), "")


def _not_in_roofline(rows: Sequence[Layer]) -> str:
    without = sum(1 for row in rows if not row.macs)
    left_out = f"; {without} layers without MACs are not shown" if without else ""
    return (
        "Numbers identify layers, where there is room; areas are proportional to their shares of "
        f"the time{left_out}."
    )


def _traffic(layer: Layer) -> dict[str, float]:
    reads = {f"{name} read": float(count) for name, count in layer.read.items()}
    return reads | {f"{name} written": float(count) for name, count in layer.written.items()}


def _copies(subject: Subject) -> str:
    operations = subject.estimate.operations if subject.estimate else []
    # A copy without an output feature map fills a table inside the NPU.
    copied = sum(sum(each.read) for each in operations if each.ofm is None)
    if not copied:
        return "The NPU copies nothing by DMA."
    return f"Not drawn: {copied:,} bytes that the NPU copies by DMA, such as weights and tables."
