# SPDX-License-Identifier: MIT
"""Tests `ethosu check --html`: layers by name, memory over time, and the page."""

import json
import re
from html import escape
from html.parser import HTMLParser

import numpy as np
import pytest
from ethosu_tools.answers import answer, page, subject, views
from ethosu_tools.answers.pictures import memory, picture, roofline
from ethosu_tools.base import svg
from ethosu_tools.boards import systems
from ethosu_tools.model import ModelFile, make_model, tflite

from host_tests.kit import needs
from host_tests.kit.browser import chromium
from host_tests.kit.models import mixed_models


@pytest.fixture
def looked_at(small_models):
    def look(npu="ethos-u55-128"):
        return subject.examine(ModelFile(small_models["small_cnn"]), systems.example(npu))

    return look


@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"])
def test_layers_have_the_names_of_the_model_and_sum_up(looked_at, small_models, npu):
    found = looked_at(npu)
    graph = tflite.parse(small_models["small_cnn"].read_bytes())[0]
    known = {f"{at} {operator.name}" for at, operator in enumerate(graph.operators)}
    names = {" ".join(layer.name.split()[:2]) for layer in found.layers}
    assert names <= known | {"an operator"} and any("CONV_2D" in name for name in names)
    assert sum(layer.cycles for layer in found.layers) == found.cycles > 0
    moved = sum(
        sum(each.read) + sum(each.written) + each.commands for each in found.estimate.operations
    )
    assert sum(layer.bytes for layer in found.layers) == moved
    first = views.as_dict(found.layers[0], found.cycles, 128)
    assert first["macs"] == 8 * 8 * 16 * 27 and 0 < first["mac_use"] < 1


@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u65-256"])
def test_the_picture_shows_what_layers_on_the_npu_write(looked_at, npu):
    drawn = memory.pictures(looked_at(npu))
    assert len(drawn) == (2 if "u65" in npu else 1)
    inside = [block for row in drawn for block in row["blocks"] if block["kind"] == "inside"]
    assert len(inside) > 5
    for row in drawn:
        for block in row["blocks"]:
            assert 0 <= block["offset"] <= block["offset"] + block["size"] <= row["arena"]
            assert 0 <= block["first"] <= block["last"] <= len(row["operators"]) + 1
    kinds = {block["kind"] for block in drawn[-1]["blocks"]}
    legend = {kind for kind, text in picture.KINDS.items() if text in picture.draw_svg(drawn[-1])}
    assert legend == kinds, "the legend has what the picture has"
    (given,) = (block for block in drawn[0]["blocks"] if block["first"] == 0)
    assert given["last"] < len(drawn[0]["operators"]), "an input is dead when it is read"


def test_a_colour_means_one_thing():
    assert not set(svg.UNITS) & set(svg.MEMORIES)


def test_shortened_names_keep_both_ends():
    assert svg.shorten("0 CONV_2D model/first", 40) == "0 CONV_2D model/first"
    short = svg.shorten("0 CONV_2D kws_1/re_lu_1/Relu;kws_1/stem", 20)
    assert len(short) == 20 and short.startswith("0 CONV_2D ") and short.endswith("/stem")


def test_labels_of_a_picture_are_legible():
    """Long names are visibly shortened, and outlines hide no block of one pixel."""
    names = ["CONV_2D", "RESIZE_NEAREST_NEIGHBOR", "SOFTMAX"] * 20
    tiny = {"name": "t", "kind": "tensor", "offset": 0, "size": 10, "first": 0, "last": 1}
    blocks = [tiny, tiny | {"offset": 16, "size": 90_000}]
    plan = {"operators": names, "arena": 100_000, "arena_before": None, "blocks": blocks}
    drawn = picture.draw_svg(plan)
    assert ">RESIZE_N\N{HORIZONTAL ELLIPSIS}EIGHBOR<" in drawn and ">bytes<" in drawn
    at = [float(x) for x in re.findall(r"translate\(([\d.]+) \d+\) rotate\(-35\)", drawn)]
    assert len(at) > 5 and min(np.diff(at)) * np.sin(np.radians(35)) > 12, "a line of text is 12 px"
    thin, thick = re.findall(
        r'<rect class="((?:block )?tensor)" x="\d+" .*height="(\d+\.\d)"', drawn
    )
    assert thin == ("tensor", "1.0") and thick[0] == "block tensor"


def test_labels_of_a_roofline_do_not_overlap(looked_at):
    found = looked_at()
    point = roofline.Point("12", "", 1000, 10, 1000, "MAC")
    for points, count in (([point] * 9, 1), ([point, point._replace(macs=64_000)], 2)):
        assert roofline.draw(found.estimate, points).count(">12</text>") == count


class Page(HTMLParser):
    """Collects tags, and attributes that refer to other files."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.names = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.names += [value for key, value in attrs if key in ("src", "href", "xlink:href")]


BOARD = ("--board", "MPS3_AN547")


def test_the_page_is_complete_and_self_contained(ethosu, small_models, tmp_path):
    path, model = tmp_path / "page.html", small_models["small_cnn"]
    code, out, err = ethosu("check", model, *BOARD, "--html", path, "--json")
    assert (code, err) == (0, "")
    data, text = json.loads(out), path.read_text()
    assert data["html"] == str(path)
    layers = json.loads(ethosu("profile", model, *BOARD, "--json")[1])["layers"]
    assert data["verdict"].endswith("every value equals TFLite's")
    assert f"{data['boards'][0]['estimate']['cycles']:,}" in text
    slowest = max(layers, key=lambda layer: layer["cycles"])
    assert f"The slowest layers: {slowest['name']} (" in text
    assert "bytes that the NPU copies by DMA" in text, "the table of SOFTMAX"
    for layer in layers:
        assert layer["name"] in text and f"{layer['cycles']:,}" in text
    shown = {layer["name"].split()[0] for layer in layers}
    operators = tflite.parse(model.read_bytes())[0].operators
    gone = [f"{at} {op.name}" for at, op in enumerate(operators) if str(at) not in shown]
    assert gone and f"as Vela merged or replaced them: {', '.join(gone)}." in text
    page = Page(text)
    assert page.tags.count("svg") == 2 and page.tags.count("table") == 2
    assert text.count('<div class="bars">') == 2
    assert "script" not in page.tags and page.names == [] and "://" not in text
    assert not re.search(r"@import|url\(", text)
    assert "prefers-color-scheme: dark" in text


@pytest.mark.page
def test_a_browser_shows_the_page_on_any_screen(ethosu, small_models, tmp_path):
    if chromium.find() is None:
        needs.missing("chromium is missing: apt-get install chromium")
    path = tmp_path / "page.html"
    assert ethosu("check", small_models["small_cnn"], "--html", path)[0] == 0
    page = chromium.Page()
    try:
        page.open(path.as_uri())
        page.wait_for(
            f"location.href === {json.dumps(path.as_uri())} && document.readyState === 'complete'"
        )
        for width in (390, 1400):
            for scheme in ("light", "dark"):
                page.look(width, 900, scheme)
                root = "document.documentElement"
                assert page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth"), width
                paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
                bound = page.evaluate(
                    "[...document.querySelectorAll('th:nth-child(2)')].at(-1)"
                    ".getBoundingClientRect().right"
                )
                lines = page.evaluate(
                    "Math.max(...[...document.querySelectorAll('.boards td:nth-child(-n+2)')]"
                    ".map(cell => { const range = document.createRange(); "
                    "range.selectNodeContents(cell); return range.getClientRects().length }))"
                )
                assert lines == 1, "names of boards and NPUs are not broken"
                assert bound <= width, "what limits a layer is seen without scrolling"
                cut = page.evaluate(
                    "[...document.querySelectorAll('svg, .bars, .bar, .wide, td')].filter(part =>"
                    f" part.getBoundingClientRect().right > {width}"
                    " || part.scrollWidth > part.clientWidth + 1).map(part => part.outerHTML)"
                )
                assert not cut, "charts and tables are whole"
                assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 25, 29)"}[scheme]
        assert page.messages == [] and len(page.requests) == 1
    finally:
        page.close()


def test_the_colour_is_as_sure_as_the_verdict(ethosu, small_models, compiled, tmp_path):
    model, source = compiled(small_models["small_cnn"]), small_models["small_cnn"]
    path, other = tmp_path / "page.html", tmp_path / "other.tflite"
    other.write_bytes(make_model.small_cnn(2))
    for words, expected, colour in (
        ((), 0, "unsure"),
        (("--reference", source), 0, "good"),
        (("--reference", other), 6, "bad"),
    ):
        code, out, _ = ethosu("check", model, "--html", path, *words)
        assert code == expected and f"page: {path}" in out
        assert f'<p class="verdict {colour}">' in path.read_text()


def test_a_page_that_is_not_written_is_a_warning(ethosu, small_models, compiled, tmp_path):
    path = tmp_path / "page.html"
    words = compiled(small_models["small_cnn"]), "--board", "GROVE_VISION_AI_V2", "--html", path
    code, _, err = ethosu("check", *words)
    assert code == 3 and f"{path} was not written" in err and not path.exists()


def test_of_several_signatures_the_page_has_the_first(ethosu, shared_models, tmp_path):
    path, model = tmp_path / "page.html", shared_models / "field/aeq_two_signatures_a8w8.tflite"
    code, out, err = ethosu("check", model, *BOARD, "--html", path)
    assert code == 0 and f"{path} is about the signature add" in err
    assert out.count(f"page: {path}") == 1


def test_the_page_says_what_the_command_says(ethosu, tmp_path):
    """Page and command agree on a model that not all boards can hold, with a CPU operator."""
    source, path = tmp_path / "model.tflite", tmp_path / "page.html"
    source.write_bytes(mixed_models.MODELS["float_io"].make())
    words = (source, "--reserve", "1M", "--html", path)
    code, out, _ = ethosu("check", *words, "--json")
    data, text = json.loads(out), path.read_text()
    assert code == 0 and next(iter(data)) == "verdict"
    assert {row["runs"] for row in data["boards"]} == {True, False}
    body = text.partition("<h1>")[2]
    order = [
        body.index(escape(each)) for each in (data["verdict"], answer.speed(data["boards"][0]))
    ]
    order += [body.index(each) for each in ("<table>", "Left to the CPU", "Details")]
    assert order == sorted(order)
    shown = ethosu("check", *words)[1]
    for row in answer.cells(data)[1:]:
        assert "".join(f"<td>{escape(cell)}</td>" for cell in row) in text
        assert all(cell in shown for cell in row)
    assert all(note in shown and page._text(note) in text for note in answer.notes(data))
    assert [row["output"] for row in data["leftover"]]
    for row in data["leftover"]:
        assert escape(f"{row['output']}: {row['reason']}") in text and row["reason"] in shown


@pytest.mark.parametrize("name", ["float_io", "two_branches", "small_streaming"])
def test_models_with_cpu_operators_have_pages(ethosu, small_models, tmp_path, name):
    source = small_models.get(name, tmp_path / "model.tflite")
    if name not in small_models:
        source.write_bytes(mixed_models.MODELS[name].make())
    path = tmp_path / "page.html"
    assert ethosu("check", source, *BOARD, "--html", path)[0] == 0
    assert views._ON_CPU in path.read_text()
