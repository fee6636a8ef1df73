# SPDX-License-Identifier: MIT
"""The page of `make web` in a headless Chromium, from a plain server of static files."""

import contextlib
import json
import re

import needs
import pytest
from ethosu_tools import paths, tflite
from ethosu_tools.estimate import latency, systems
from ethosu_tools.make_mixed import MODELS
from ethosu_tools.plan import plan_file
from ethosu_tools.plan.placement import align
from ethosu_tools.tflite.reader import parse
from ethosu_tools.tflite.writer import Graph, write

from .chromium import Page
from .steps import (
    EQUAL,
    PROMPT,
    RUNS,
    STATUS,
    choose,
    choose_npu,
    click,
    type_line,
    with_vela,
)


@with_vela
def test_model_is_compiled_and_equals_the_cpu_kernels(page, small_models):
    assert choose(page, small_models["small_cnn"]) == EQUAL
    page.wait_for_screen("<Model ethos-u55-128: 1 inputs, 1 outputs")
    assert "Vela 5." in page.screen()


def test_model_is_run_and_scripted(page, small_models, ready):
    model = ready(small_models["small_cnn"])
    assert choose(page, model) == RUNS
    page.wait_for_screen("<Model ethos-u55-128: 1 inputs, 1 outputs")
    type_line(page, "y = m.predict([bytearray(768)])[0]; print('sum', len(y), max(y) >= min(y))")
    page.wait_for_screen("\nsum 10 True\n")
    type_line(page, "while True: m.predict([bytearray(768)])\r")
    page.wait_for_screen("while True: m.predict([bytearray(768)])\n... \n")
    click(page, "interrupt")
    page.wait_for_screen("KeyboardInterrupt: \n>>> ")
    type_line(page, "kept = 1")
    click(page, "reset")
    page.wait_for_screen("soft reboot")
    page.wait_for(PROMPT)
    type_line(page, "'kept' in globals()")
    page.wait_for_screen("\nFalse\n")
    for width in (400, 1400):
        for scheme in ("light", "dark"):
            page.look(width, 1000, scheme)
            page.wait_for("new Promise(done => requestAnimationFrame(() => done(true)))")
            inside = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
            assert page.evaluate(inside), f"the page is wider than {width} pixels"
            page.screenshot(paths.work("web_parts") / f"page-{width}-{scheme}.png")


def test_a_latency_that_fails_leaves_the_verdict(page, small_models, ready):
    page.evaluate(
        "(() => { const asked = fetch; globalThis.fetch = (name) => name === 'timing.py'"
        " ? Promise.resolve(new Response('raise ValueError(7)')) : asked(name); })()"
    )
    page.evaluate("document.getElementById('recording').hidden = false")
    assert choose(page, ready(small_models["small_cnn"])) == RUNS
    page.wait_for("document.body.dataset.timed")
    assert page.evaluate(STATUS) == RUNS
    said = page.evaluate("document.getElementById('steps').lastChild.textContent")
    assert said == "The latency was not counted: ValueError: 7"
    # A model of one's own has no recording.
    assert page.evaluate("document.getElementById('recording').hidden")


def test_latency_is_what_ethosu_estimate_says(page, small_models, ready):
    model = ready(small_models["small_cnn"])
    assert choose(page, model) == RUNS
    page.wait_for("document.body.dataset.timed")
    rows = page.evaluate(
        "[...document.querySelectorAll('#latency tbody tr')].map("
        "row => [row.cells[0].textContent, row.cells[1].textContent, row.dataset.cycles])"
    )
    known = {(each.name, each.weights.name): each for each in systems.every()}
    found = {(name, place): int(cycles) for name, place, cycles in rows}
    assert len(found) == len(rows) >= 6
    told = {where: latency.estimate(model, known[where]).cycles for where in found}
    assert found == told


@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u65-256"])
def test_arena_has_each_tensor_that_is_in_it(page, tmp_path, ready, npu):
    source = tmp_path / "detection.tflite"
    source.write_bytes(MODELS["detection"].make())
    model = ready(source, npu)
    choose_npu(page, npu)
    assert choose(page, model) == RUNS
    names = page.evaluate(
        "[...document.querySelectorAll('#arena .block')].map(each => each.textContent)"
    )
    ends = tflite.describe(source)
    for tensor in (*ends.inputs, *ends.outputs):
        assert any(name.startswith(f"{tensor.name}: ") for name in names), names
    # The NPU's fast scratch is memory of its own.
    (graph,) = parse(model.read_bytes())
    fast = graph.fast_scratch
    assert (fast is None) == (npu == "ethos-u55-128")
    if fast is not None:
        assert not any(name.startswith(f"{graph.tensors[fast].name}: ") for name in names), names
    drawn = page.evaluate("document.querySelector('#arena svg').ariaLabel")
    figures = page.evaluate("document.getElementById('figures').textContent")
    tensors, needed = (
        int(found[1].replace(",", ""))
        for found in (
            re.search(r" in ([\d,]+) bytes", drawn),
            re.search(r"([\d,]+) bytes of arena", figures),
        )
    )
    theirs = plan_file(model, tmp_path / "planned.tflite")
    scratch = sum(align(entry.size) for entry in theirs.entries)
    behind = needed - tensors - scratch - theirs.fast_scratch
    assert 0 <= behind < 2 * 64, "nothing else lies there but gaps to whole cache lines"


@with_vela
@pytest.mark.parametrize("npu", ["ethos-u65-512", "ethos-u85-256"])
def test_other_npu(page, small_models, npu):
    choose_npu(page, npu)
    assert choose(page, small_models["small_streaming"]) == EQUAL
    page.wait_for_screen(f"<Model {npu}:")


@with_vela
@pytest.mark.parametrize(
    "name, on_cpu",
    [
        ("svdf", "Svdf (svdf): Vela does not compile it for this NPU"),
        (
            "detection",
            "TFLite_Detection_PostProcess (boxes): Vela does not compile it for this NPU",
        ),
        (
            "float_ends",
            "Quantize (quantized): Operation has tensor with unsupported DataType Float32",
        ),
    ],
)
def test_operators_on_the_cpu(page, tmp_path, name, on_cpu):
    path = tmp_path / f"{name}.tflite"
    path.write_bytes(MODELS[name].make())
    assert choose(page, path) == EQUAL
    figures = page.evaluate("document.getElementById('figures').textContent")
    assert on_cpu in figures.partition("Left to the CPU")[2]


def test_what_was_used_works_without_a_network(page, server, address, small_models, ready):
    model = ready(small_models["small_cnn"])
    assert choose(page, model) == RUNS
    server.shutdown()
    server.server_close()
    page.open(address)
    page.wait_for(f"document.body && !document.body.dataset.done && {PROMPT}")
    assert choose(page, model) == RUNS


def test_each_control_has_a_name(page):
    """For a screen reader."""
    roles = {"button", "combobox", "link", "textbox", "region", "toolbar", "heading"}
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    found = [node for node in nodes if node.get("role", {}).get("value") in roles]
    assert len(found) > 10
    assert [node for node in found if not node.get("name", {}).get("value")] == []


def test_the_keyboard_leaves_the_prompt(page):
    page.evaluate("ethosuTerminal.focus()")
    inside = "document.getElementById('terminal').contains(document.activeElement)"
    assert page.evaluate(inside)
    page.call("Input.dispatchKeyEvent", type="keyDown", key="Tab", code="Tab", modifiers=8)
    assert not page.evaluate(inside)


def test_a_new_board_has_the_files(page, small_models, ready):
    assert choose(page, ready(small_models["small_cnn"])) == RUNS
    page.evaluate("document.getElementById('again').click()")
    page.wait_for(PROMPT)
    page.press("import os; print(os.listdir('/rom'))\r")
    page.wait_for_screen("\n['small_cnn.tflite']\n")


def test_a_difference_is_seen(page):
    """The comparison finds one changed weight."""
    code = """(async () => {
        const { runProgram } = await import("./board_client.js");
        const { planned } = await import("./plan.js");
        const { Model } = await import("./tflite.js");
        const read = async (url) => (await fetch(url)).arrayBuffer();
        const module = await WebAssembly.compile(await read("ethosu.wasm"));
        const bytes = new Uint8Array(await read("examples/small_cnn.tflite"));
        const model = planned(module, bytes);
        const other = model.slice();
        const { buffers } = new Model(other);
        const largest = buffers.map((buffer) => buffer.bytes(0)).filter(Boolean)
            .reduce((a, b) => (b.length > a.length ? b : a));
        largest[0] ^= 0x55;
        const files = new Map([["model", model], ["original", other]]);
        const paths = 'COMPILED = "/rom/model"\\nORIGINAL = "/rom/original"\\n';
        const program = paths + await (await fetch("check.py")).text();
        const seen = [];
        const board = { npus: ["ethos-u55-128"], files, program };
        await runProgram(module, board, (row) => seen.push(row));
        return JSON.stringify(seen);
    })()"""
    rows = json.loads(page.evaluate(code))
    assert [row["kind"] for row in rows] == ["model", "run"]
    assert 0 < rows[1]["wrong"] <= rows[1]["bytes"] == 50


def test_bad_files_give_one_sentence_and_the_prompt_answers(page, small_models, tmp_path):
    good = small_models["small_cnn"].read_bytes()
    files = {
        "text.tflite": (b"this is no model", "this is no .tflite"),
        "empty.tflite": (b"", "this is no .tflite"),
        "short.tflite": (good[:1000], "damaged"),
        "hostile.tflite": (good[:8] + bytes(255 - i % 256 for i in range(3000)), "damaged"),
    }
    for name, (content, sentence) in files.items():
        path = tmp_path / name
        path.write_bytes(content)
        assert choose(page, path) == f"{name} does not run."
        assert sentence in page.evaluate("document.getElementById('steps').lastChild.textContent")
    large = tmp_path / "large.tflite"
    with large.open("wb") as file:
        file.truncate(200_000_000)
    page.choose_file("#file", large)
    page.wait_for(f"{STATUS}.startsWith('large.tflite has 200,000,000 bytes')")
    type_line(page, "print(6 * 7)")
    page.wait_for_screen("\n42\n")


def test_a_model_without_room_is_refused(page, tmp_path, ready):
    """Its input alone has more than the board's heap."""
    graph = Graph("wide")
    shape = (1, 4096, 4096, 3)
    ends = [graph.tensor(name, shape, "int8", 1 / 255, -128) for name in ("in", "out")]
    graph.operator("ADD", [ends[0], ends[0]], [ends[1]], "AddOptions")
    graph.inputs, graph.outputs = [ends[0]], [ends[1]]
    source = tmp_path / "wide.tflite"
    source.write_bytes(write([graph], "wide"))
    model = ready(source)
    assert choose(page, model) == f"{model.name} does not run."
    said = page.evaluate("document.getElementById('steps').lastChild.textContent")
    assert said.startswith("the arena needs 100663296 bytes, the heap has ")
    type_line(page, "print(6 * 7)")
    page.wait_for_screen("\n42\n")


REFUSED = "() => Promise.reject(new DOMException('refused', 'SecurityError'))"


@pytest.mark.parametrize(
    "code, sentence",
    [
        (
            "WebAssembly.compile = () => Promise.reject(new WebAssembly.CompileError('simd'))",
            "This browser cannot run the board: it needs WebAssembly with SIMD",
        ),
        (
            "SharedArrayBuffer = class { constructor() "
            "{ throw new RangeError('Array buffer allocation failed'); } }",
            "The page did not start: Array buffer allocation failed",
        ),
        (
            f"ServiceWorkerContainer.prototype.register = {REFUSED}",
            "The board cannot start: this browser gives the page no shared memory.",
        ),
    ],
    ids=["SIMD", "memory", "storage"],
)
def test_a_browser_that_cannot_says_so(address, code, sentence):
    needs.web()
    with contextlib.closing(Page()) as page:
        page.begin_with(code)
        page.open(address)
        page.wait_for(f"document.getElementById('alert')?.textContent.startsWith({sentence!r})")
        assert page.messages == []
