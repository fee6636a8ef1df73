# SPDX-License-Identifier: MIT
"""The page of `make web` in a headless Chromium, from a plain server of static files."""

import functools
import http.server
import json
import threading
import time

import needs
import pytest
from ethosu_tools import paths
from ethosu_tools.make_mixed import MODELS

from .chromium import Page, find

pytestmark = pytest.mark.slow
PROMPT = (
    "globalThis.ethosuTerminal && ethosuTerminal.buffer.active.getLine("
    "ethosuTerminal.buffer.active.baseY + ethosuTerminal.buffer.active.cursorY)"
    ".translateToString(true).trimEnd() === '>>>'"
)
STATUS = "document.getElementById('status').textContent"
EQUAL = "It runs, and every bit equals the CPU kernels."


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Sets no headers but what such a server always sets."""

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    needs.web()
    folder = paths.root() / "build/web"
    if not (folder / "index.html").is_file():
        pytest.skip("the page is not there; build it with: make web")
    if find() is None:
        pytest.skip("chromium is missing: apt-get install chromium")
    handler = functools.partial(_Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


@pytest.fixture
def address(server):
    return f"http://localhost:{server.server_port}/"


@pytest.fixture
def page(address):
    made = Page()
    try:
        made.look(1400, 1000, "light")
        start = time.monotonic()
        made.open(address)
        made.wait_for(PROMPT)
        print(f"from open to prompt: {time.monotonic() - start:.2f} s")
        yield made
        assert made.messages == []
        assert all(request.startswith((address, "blob:", "data:")) for request in made.requests)
    finally:
        made.close()


def choose(page, path):
    start = time.monotonic()
    page.evaluate("delete document.body.dataset.done")
    page.choose_file("#file", path)
    page.wait_for("document.body.dataset.done")
    print(f"from drop to result: {time.monotonic() - start:.2f} s")
    return page.evaluate(STATUS)


def test_model_is_compiled_run_and_scripted(page, small_models, tmp_path):
    assert choose(page, small_models["small_cnn"]) == EQUAL
    page.wait_for_screen("<Model ethos-u55-128: 1 inputs, 1 outputs")
    assert "Vela 5." in page.screen()
    page.evaluate("ethosuTerminal.focus()")
    page.press("y = m.predict([bytearray(768)])[0]; print('sum', len(y), max(y) >= min(y))\r")
    page.wait_for_screen("\nsum 10 True\n")
    page.press("while True: m.predict([bytearray(768)])\r\r")
    page.wait_for_screen("while True: m.predict([bytearray(768)])\n... \n")
    page.evaluate("document.getElementById('interrupt').click()")
    page.wait_for_screen("KeyboardInterrupt: \n>>> ")
    page.press("kept = 1\r")
    page.evaluate("document.getElementById('reset').click()")
    page.wait_for_screen("soft reboot")
    page.evaluate("ethosuTerminal.focus()")
    page.wait_for(PROMPT)
    page.press("'kept' in globals()\r")
    page.wait_for_screen("\nFalse\n")
    for width in (400, 1400):
        for scheme in ("light", "dark"):
            page.look(width, 1000, scheme)
            page.wait_for("new Promise(done => requestAnimationFrame(() => done(true)))")
            inside = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
            assert page.evaluate(inside), f"the page is wider than {width} pixels"
            page.screenshot(paths.work("web_parts") / f"page-{width}-{scheme}.png")


@pytest.mark.parametrize("npu", ["ethos-u65-512", "ethos-u85-256"])
def test_other_npu(page, small_models, npu):
    page.evaluate(
        "(() => { const s = document.getElementById('target');"
        f"s.value = [...s.options].find(o => o.textContent === '{npu}').value;"
        "s.dispatchEvent(new Event('change')); })()"
    )
    page.wait_for(PROMPT)
    assert choose(page, small_models["small_streaming"]) == EQUAL
    page.wait_for_screen(f"<Model {npu}:")


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


def test_what_was_used_works_without_a_network(page, server, address, small_models):
    assert choose(page, small_models["small_cnn"]) == EQUAL
    server.shutdown()
    server.server_close()
    page.open(address)
    page.wait_for(f"document.body && !document.body.dataset.done && {PROMPT}")
    assert choose(page, small_models["small_streaming"]) == EQUAL


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


def test_a_new_board_has_the_files(page, small_models):
    assert choose(page, small_models["small_cnn"]) == EQUAL
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
    page.evaluate("ethosuTerminal.focus()")
    page.press("print(6 * 7)\r")
    page.wait_for_screen("\n42\n")
