# SPDX-License-Identifier: MIT
"""Tests the page of `make web` in a headless Chromium, from a server of static files."""

import contextlib
import json
import re
from dataclasses import asdict, replace

import pytest
from ethosu_tools import boards
from ethosu_tools.answers import rules, runtimes, traits
from ethosu_tools.base import paths
from ethosu_tools.boards import systems
from ethosu_tools.compile import vela
from ethosu_tools.compile.plan import plan_file
from ethosu_tools.compile.plan.placement import align
from ethosu_tools.model import ModelFile, make_model, tflite
from ethosu_tools.model.tflite import parse
from ethosu_tools.model.tflite.writer import Graph, write
from ethosu_tools.sim import figures, fit, latency
from ethosu_tools.sim.need import Need
from ethosu_tools.sim.simulation import Simulation

from host_tests.kit.browser.chromium import Page
from host_tests.kit.models.mixed_models import MODELS

from . import needed
from .steps import (
    ALERT,
    EQUAL,
    FOLDER,
    PROMPT,
    RUNS,
    STATUS,
    choose,
    choose_npu,
    click,
    opened,
    type_line,
    with_vela,
)


@with_vela
def test_model_is_compiled_and_equals_the_cpu_kernels(page, small_models):
    assert choose(page, small_models["small_cnn"]) == EQUAL
    page.wait_for_screen("<Model ethos-u55-128: inputs 1, outputs 1")
    assert "Vela 5." in page.screen()


def test_model_is_run_and_scripted(page, small_models, ready):
    model = ready(small_models["small_cnn"])
    assert choose(page, model) == RUNS
    page.wait_for_screen("<Model ethos-u55-128: inputs 1, outputs 1")
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
    click(page, "again")  # the new board has the files
    page.wait_for(PROMPT)
    type_line(page, "import os; print(os.listdir('/rom'))")
    page.wait_for_screen("\n['small_cnn.tflite']\n")


def test_a_printed_line_does_not_stop_the_page(page):
    """Printed control sequences with huge counts, slow in xterm.js, do not stop the page."""
    type_line(page, "finals = [chr(n) for n in range(64, 127)]")
    for before in ("", " ", "'"):
        type_line(page, f"for f in finals: print('x\\x1b[99999999{before}' + f, end='')\r")
    type_line(page, "print('\\x1bc', 6 * 7)")
    page.wait_for_screen(" 42\n>>>")
    type_line(page, "print('ab\\x1b[2b', end='\\x1b[3D\\x1b[1P.\\n')")
    page.wait_for_screen("\na.b\n")


def test_a_latency_that_fails_leaves_the_verdict(page, small_models, ready):
    page.evaluate(
        "(() => { const asked = fetch; globalThis.fetch = (name) => `${name}`.endsWith('timing.py')"
        " ? Promise.resolve(new Response('raise ValueError(7)')) : asked(name); })()"
    )
    page.evaluate("document.getElementById('recording').hidden = false")
    assert choose(page, ready(small_models["small_cnn"])) == RUNS
    page.wait_for("document.body.dataset.timed")
    assert page.evaluate(STATUS) == RUNS
    said = page.evaluate("document.getElementById('steps').lastChild.textContent")
    assert said == "The latency was not counted: ValueError: 7"
    # A user's own model has no recording.
    assert page.evaluate("document.getElementById('recording').hidden")


def boards_on(page):
    """Return each board's status in the table, its missing resources, and its text."""
    rows = page.evaluate(
        "[...document.querySelectorAll('#boards tbody tr')].map("
        "row => [row.dataset.board, row.dataset.status, row.dataset.lacks,"
        " row.cells[1].textContent])"
    )
    order = [figures.RUNS, figures.OTHER_NPU, figures.TOO_LARGE]
    found = [order.index(status) for _, status, _, _ in rows]
    assert found == sorted(found), "those that run it come first"
    return {board: (status, json.loads(lacks), text) for board, status, lacks, text in rows}


@pytest.mark.parametrize(
    ("weights", "npu", "resource"),
    [
        pytest.param(10, "ethos-u55-128", "heap", marks=pytest.mark.slow),
        (10, "ethos-u85-256", "heap"),
        pytest.param(1000, "ethos-u55-128", "rom", marks=pytest.mark.slow),
    ],
)
def test_the_boards_that_fit_are_those_of_the_tools(page, tmp_path, ready, weights, npu, resource):
    """Boards fit as in the tools, to the byte, except for tables, smaller on a 32-bit CPU."""
    net = make_model.Net("dense", 1)
    source = tmp_path / "dense.tflite"
    source.write_bytes(net.finish(net.dense(net.input((1, 1, 1, 1000)), weights, 1.0)))
    model = ready(source, npu)
    choose_npu(page, npu)
    assert choose(page, model) == RUNS
    with Simulation(model) as simulation:
        tables = simulation.info()["object_size"]
    need, answers = Need.of(model), set()
    said = page.evaluate("document.getElementById('fits').textContent")
    heap, rom = (int(number.replace(",", "")) for number in re.findall(r"([\d,]+) bytes", said))
    assert need.heap - tables < heap <= need.heap and rom == need.image
    for reserve_kb in (0, 1000, 9000):  # heaps have 1 to 8 MB
        page.evaluate(
            f"(() => {{ const r = document.getElementById('reserve'); r.value = {reserve_kb};"
            "r.dispatchEvent(new Event('input')); })()"
        )
        page.wait_for(
            "[...document.querySelectorAll('#boards tbody tr')].every("
            f"row => row.dataset.reserve === '{reserve_kb * 1024}')"
        )
        found = boards_on(page)
        assert set(found) == set(boards.names())
        for name, (status, lacks, text) in found.items():
            room = asdict(fit.room_of(boards.load(name), reserve_kb * 1024))
            known = figures.compare(replace(need, arena=heap - need.tables).as_dict(), room)
            assert (status, lacks) == (known["status"], known["lacks"])
            assert text.partition(":")[0] == known["words"].partition(":")[0]
            assert text == known["words"] or status == figures.RUNS
            answers.add((status, *lacks))
    assert {(figures.RUNS,), (figures.TOO_LARGE, "heap"), (figures.OTHER_NPU,)} <= answers
    assert (figures.TOO_LARGE, resource) in answers
    page.look(390, 800, "light")
    inside = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert page.evaluate(inside), "a phone shows the table"


RUNTIMES = "[...document.querySelectorAll('#runtimes li')].map(item => item.textContent)"


SLOWLY = [pytest.param(name, marks=pytest.mark.slow) for name in ("small_cnn", "detection")]


@pytest.mark.parametrize("name", [*SLOWLY, "svdf"])
def test_other_runtimes_are_those_of_ethosu_check(page, small_models, tmp_path, ready, name):
    source = small_models.get(name)
    if source is None:
        source = tmp_path / f"{name}.tflite"
        source.write_bytes(MODELS[name].make())
    model = ready(source)
    assert choose(page, model) == RUNS
    page.wait_for(f"{RUNTIMES}.length")
    known = runtimes.verdicts(traits.of(ModelFile(model)))
    assert page.evaluate(RUNTIMES) == [rules.sentence(each) for each in known]
    found = page.evaluate(
        "[...document.querySelectorAll('#runtimes .good')].map(e => e.textContent)"
    )
    taking = [each for each in known if each["verdict"] == rules.ACCEPTS]
    assert found == [f"{each['runtime']} {each['verdict']}" for each in taking]
    assert len(known) > 3


def test_other_runtimes_are_shown_for_a_model_that_does_not_run_here(page, tmp_path, ready):
    source, model = tmp_path / "detection.tflite", tmp_path / "unknown.tflite"
    source.write_bytes(MODELS["detection"].make())
    known, unknown = b"TFLite_Detection_PostProcess", b"TFLite_Detection_PostProcesX"
    content = ready(source).read_bytes()
    assert known in content
    model.write_bytes(content.replace(known, unknown))
    assert "does not run" in choose(page, model)
    page.wait_for(f"{RUNTIMES}.length")
    assert any(f"no kernel for {unknown.decode()}" in each for each in page.evaluate(RUNTIMES))
    assert page.evaluate("document.getElementById('of-boards').hidden")


def check_latency(page, model):
    """Check that the latency equals `ethosu check`'s."""
    rows = page.evaluate(
        "[...document.querySelectorAll('#latency tbody tr')].map("
        "row => [row.dataset.system, row.dataset.cycles,"
        "...[...row.cells].map(cell => cell.textContent)])"
    )
    known = {(each.name, each.weights.name): each for each in systems.every()}
    found = {(name, place): int(cycles) for name, cycles, _, _, place, *_ in rows}
    assert len(found) == len(rows) >= 6
    estimated = {where: latency.estimate(model, known[where]).cycles for where in found}
    assert found == estimated
    for name, _, title, time, place, *_ in rows:
        system = known[name, place]
        assert title == system.title
        known_row = latency.estimate(model, system)
        assert ("≥" in time) == (known_row.high_ms is None)
        assert float(time.removeprefix("≥ ")) == pytest.approx(
            known_row.low_ms if "≥" in time else known_row.milliseconds, rel=0.006
        )
    bounds = ["≥" in row[3] for row in rows]
    assert bounds == sorted(bounds), "a lower bound comes after the figures"
    page.look(390, 800, "light")
    seen = page.evaluate(
        "(() => { const cell = document.querySelector('#latency td:nth-child(2)');"
        "return cell.getBoundingClientRect().right <= document.documentElement.clientWidth; })()"
    )
    assert seen, "a phone shows the milliseconds without scrolling"
    cut = page.evaluate(
        "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth)"
        ".map(e => e.getAttribute('aria-labelledby'))"
    )
    assert cut == [], "a phone shows tables whole"


def test_the_answer_comes_first(page, small_models, ready):
    model = ready(small_models["small_cnn"])
    assert choose(page, model) == RUNS
    page.wait_for("document.body.dataset.timed")
    assert "before Vela, is not available" in page.evaluate(
        "document.getElementById('exact').textContent"
    )
    tops = page.evaluate(
        "['status', 'exact', 'fits', 'boards', 'runtimes', 'steps', 'download', 'latency', 'arena']"
        ".map(id => document.getElementById(id).getBoundingClientRect().top)"
    )
    assert tops == sorted(tops)
    shown = page.evaluate(
        "[...document.querySelectorAll('#boards tbody tr')].map("
        "row => [row.dataset.board, row.dataset.status, row.cells[2].textContent])"
    )
    times = page.evaluate(
        "[...document.querySelectorAll('#latency tbody tr')].map("
        "row => [row.dataset.system, row.cells[2].textContent, row.cells[1].textContent])"
    )
    for board, status, time in shown:
        usual = [ms for name, weights, ms in times if (name, weights) == where(board)]
        assert [time] == (usual if status == figures.RUNS else [""])
    assert any(time for *_, time in shown)
    check_latency(page, model)


def where(board):
    """Return a board, and its default memory for weights."""
    system = systems.find(board)
    return system.name, system.weights.name


def test_a_model_for_another_npu_gets_that_npu(page, small_models, ready):
    assert choose(page, ready(small_models["small_cnn"], "ethos-u65-256")) == RUNS
    page.wait_for_screen("<Model ethos-u65-256: inputs 1, outputs 1")
    chosen = "document.getElementById('target').selectedOptions[0].textContent"
    assert page.evaluate(chosen) == "ethos-u65-256"


def test_the_program_for_a_board_runs(page, small_models, ready):
    assert choose(page, ready(small_models["small_cnn"])) == RUNS
    page.wait_for("document.getElementById('code').textContent")
    code = page.evaluate("document.getElementById('code').textContent")
    program = f"{code}\nprint('sizes', [len(output) for output in outputs])\n"
    page.evaluate(f"document.getElementById('script').value = {json.dumps(program)}")
    click(page, "run")
    page.wait_for_screen("sizes [10]", wrong="Traceback")


def test_run_ends_a_running_program_and_clears_the_screen(page):
    flood = "while True: print('x' * 200)"
    page.evaluate(f"document.getElementById('script').value = {json.dumps(flood)}")
    click(page, "run")
    page.wait_for_screen("xxxx")
    page.evaluate("document.getElementById('script').value = 'print(6 * 7)'")
    click(page, "run")
    page.wait_for_screen("\n42\n")
    assert page.screen().lstrip().startswith("MicroPython"), page.screen()
    assert "xxxx" not in page.screen()


@pytest.mark.parametrize(
    "npu", [pytest.param("ethos-u55-128", marks=pytest.mark.slow), "ethos-u65-256"]
)
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
    # Here the NPU's fast scratch is separate memory.
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
@pytest.mark.parametrize("name", ["svdf", "detection", "float_io"])
def test_operators_on_the_cpu_are_those_of_the_tools(page, tmp_path, name):
    path = tmp_path / f"{name}.tflite"
    path.write_bytes(MODELS[name].make())
    assert choose(page, path) == EQUAL
    figures = page.evaluate("document.getElementById('figures').textContent")
    rows = vela.compiled(ModelFile(path), "ethos-u55-128").facts["leftover"]
    said = [f"{row['operator']} ({row['output']}): {row['reason']}" for row in rows]
    assert said and figures.partition("Left to the CPU")[2].startswith("\n".join(said))


def test_everything_used_before_works_offline(server, small_models, ready):
    model, address = ready(small_models["small_cnn"]), f"http://localhost:{server.server_port}/"
    with opened(address) as page:
        assert choose(page, model) == RUNS
        server.shutdown()
        server.server_close()
        page.open(address)
        page.wait_for(f"document.body && !document.body.dataset.done && {PROMPT}")
        assert choose(page, model) == RUNS
        page.messages[:] = [each for each in page.messages if "net::ERR_" not in each]


def press_key(page, key, modifiers=0):
    code = {"Tab": 9, "Escape": 27}[key]
    facts = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
    page.call("Input.dispatchKeyEvent", type="rawKeyDown", **facts)
    page.call("Input.dispatchKeyEvent", type="keyUp", **facts)


INSIDE = "document.getElementById('terminal').contains(document.activeElement)"


def test_the_keyboard_reaches_each_control(page):
    """The keyboard reaches each control: at the prompt, Esc then Tab leaves, Shift-Tab back."""
    page.evaluate("ethosuTerminal.focus()")
    assert page.evaluate(INSIDE)
    press_key(page, "Tab", modifiers=8)
    assert not page.evaluate(INSIDE)
    reached, left = [], 0
    page.evaluate("document.activeElement.blur()")
    for _ in range(60):
        press_key(page, "Tab")
        if page.evaluate(INSIDE):
            page.press("impo")
            press_key(page, "Tab")
            page.wait_for_screen(">>> import")
            assert page.evaluate(INSIDE)
            page.press("\x03")
            press_key(page, "Escape")
            press_key(page, "Tab")
            assert not page.evaluate(INSIDE)
            left += 1
        reached.append(page.evaluate("document.activeElement.id"))
    wanted = ["interrupt", "reset", "again", "script", "run", "link", "microphone", "camera"]
    assert left >= 1
    assert set(wanted) <= set(reached)


def test_a_page_opened_from_a_file_explains_what_to_do(address):
    with contextlib.closing(Page()) as page:
        page.open((FOLDER / "index.html").as_uri())
        page.wait_for(f"{ALERT}.startsWith('A browser cannot run this page from')")


def luminance(color):
    parts = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(a * b for a, b in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def check_contrast(page):
    """Check WCAG 2.1, 1.4.11: 3:1 between the borders of controls and adjacent colours."""
    controls = "#drop, #target, #mode, #script, #interrupt, #terminal, #examples button"
    found = page.evaluate(
        f"JSON.stringify([...document.querySelectorAll('{controls}')].map(e => ["
        "getComputedStyle(e).borderTopColor,"
        "getComputedStyle(e.closest('section')).backgroundColor]))"
    )
    pairs = {tuple(pair) for pair in json.loads(found)}
    assert pairs
    for pair in pairs:
        low, high = sorted(map(luminance, pair))
        assert (high + 0.05) / (low + 0.05) >= 3, pair


def test_each_control_has_a_name_and_contrast(page):
    """Each control has a name, for screen readers, and enough contrast."""
    roles = {"button", "combobox", "link", "textbox", "region", "toolbar", "heading"}
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    found = [node for node in nodes if node.get("role", {}).get("value") in roles]
    assert len(found) > 10
    assert [node for node in found if not node.get("name", {}).get("value")] == []
    for scheme in ("light", "dark"):
        page.look(1400, 1000, scheme)
        check_contrast(page)


def test_a_difference_is_detected(page):
    """The comparison with the reference detects one changed weight."""
    code = """(async () => {
        const files = document.querySelector("script[type=module]").src;
        const { Model, planned, runProgram } = await import(files);
        const load = (name) => fetch(new URL(name, files));
        const read = async (name) => (await load(name)).arrayBuffer();
        const module = await WebAssembly.compile(await read("ethosu.wasm"));
        const bytes = new Uint8Array(await read("examples/small_cnn.tflite"));
        const model = planned(module, bytes);
        const other = model.slice();
        const { tensors } = new Model(module, other);
        const largest = tensors.map(({ constant }) => constant)
            .reduce((a, b) => (b.length > a.length ? b : a));
        largest[0] ^= 0x55;
        const rom = new Map([["model", model], ["original", other]]);
        const paths = 'COMPILED = "/rom/model"\\nORIGINAL = "/rom/original"\\n';
        const program = paths + await (await load("check.py")).text();
        const seen = [];
        const board = { npus: ["ethos-u55-128"], files: rom, program };
        await runProgram(module, board, (row) => seen.push(row));
        return JSON.stringify(seen);
    })()"""
    rows = json.loads(page.evaluate(code))
    assert [row["kind"] for row in rows] == ["model", "run"]
    assert 0 < rows[1]["wrong"] <= rows[1]["bytes"] == 50


def test_bad_files_are_one_error_and_the_prompt_still_works(page, small_models, tmp_path):
    good = small_models["small_cnn"].read_bytes()
    noise = bytes(255 - i % 256 for i in range(3000))
    files = {
        "text.tflite": (b"this is no model", "it is text: neither a model, nor C source"),
        "page.tflite": (b"<!DOCTYPE html><html>", "it is a web page, not the file itself"),
        "pointer.tflite": (b"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS"),
        "zip.tflite": (b"PK\3\4" + noise, "it is a ZIP archive: unpack it"),
        "noise.tflite": (noise, "it is not a TensorFlow Lite model, or it is damaged"),
        "empty.tflite": (b"", "it is empty: copy"),
        "keras.keras": (b"PK\3\4config.json model.weights.h5", "it is a Keras model: convert"),
        "torn.keras": (b"PK\3\4" + noise, "damaged"),
        "short.tflite": (good[:1000], "damaged"),
        "hostile.tflite": (good[:8] + noise, "damaged"),
    }
    for name, (content, message) in files.items():
        path = tmp_path / name
        path.write_bytes(content)
        said = choose(page, path)
        assert said.startswith(f"{name} does not run: ") and message in said
    # A file that is not a model goes to /rom, and nothing of the previous file remains.
    for name in ("readme.txt", "data.csv"):
        path = tmp_path / name
        path.write_bytes(b"1,2\n")
        page.choose_file("#file", path)
        page.wait_for(f"{STATUS} === '{name} is now /rom/{name}.'")
    assert not page.evaluate("!!document.querySelector('#steps .bad')")
    page.wait_for(PROMPT)
    large = tmp_path / "large.tflite"
    with large.open("wb") as file:
        file.truncate(200_000_000)
    page.choose_file("#file", large)
    page.wait_for(f"{STATUS}.startsWith('large.tflite does not run: it has 200,000,000 bytes')")
    type_line(page, "print(6 * 7)")
    page.wait_for_screen("\n42\n")


def test_a_model_without_room_is_refused(page, tmp_path, ready):
    """A model whose input alone exceeds the board's heap is refused."""
    graph = Graph("wide")
    shape = (1, 4096, 4096, 3)
    ends = [graph.tensor(name, shape, "int8", 1 / 255, -128) for name in ("in", "out")]
    graph.operator("ADD", [ends[0], ends[0]], [ends[1]], "AddOptions")
    graph.inputs, graph.outputs = [ends[0]], [ends[1]]
    source = tmp_path / "wide.tflite"
    source.write_bytes(write([graph], "wide"))
    model = ready(source)
    said = choose(page, model)
    assert said.startswith(
        f"{model.name} does not run: the arena needs 100663296 bytes, the heap has "
    )
    type_line(page, "print(6 * 7)")
    page.wait_for_screen("\n42\n")


REFUSED = "() => Promise.reject(new DOMException('refused', 'SecurityError'))"


@pytest.mark.parametrize(
    "code, message",
    [
        (
            "WebAssembly.compile = WebAssembly.compileStreaming = "
            "() => Promise.reject(new WebAssembly.CompileError('simd'))",
            "This browser cannot run the board: it needs WebAssembly with SIMD",
        ),
        pytest.param(
            "SharedArrayBuffer = class { constructor() "
            "{ throw new RangeError('Array buffer allocation failed'); } }",
            "The page did not start: Array buffer allocation failed",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            f"ServiceWorkerContainer.prototype.register = {REFUSED}",
            "The board cannot start: this browser gives the page no shared memory.",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["SIMD", "memory", "storage"],
)
def test_an_unsupported_browser_is_reported(address, code, message):
    needed.web()
    with contextlib.closing(Page()) as page:
        page.begin_with(code)
        page.open(address)
        page.wait_for(f"document.getElementById('alert')?.textContent.startsWith({message!r})")
        assert page.messages == []
