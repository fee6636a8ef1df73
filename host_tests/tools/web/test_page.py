# SPDX-License-Identifier: MIT
"""The page of `make web` in a headless Chromium, from a plain server of static files."""

import contextlib
import json
import re
import time

import needs
import pytest
from ethosu_tools import objects, paths, tflite
from ethosu_tools.estimate import latency, systems
from ethosu_tools.make_mixed import MODELS
from ethosu_tools.plan import plan_file
from ethosu_tools.plan.placement import align
from ethosu_tools.tflite.reader import parse
from ethosu_tools.tflite.writer import Graph, write
from ethosu_tools.wakeword import words

from .chromium import Page, find
from .serve import serve

PROMPT = (
    "globalThis.ethosuTerminal && ethosuTerminal.buffer.active.getLine("
    "ethosuTerminal.buffer.active.baseY + ethosuTerminal.buffer.active.cursorY)"
    ".translateToString(true).trimEnd() === '>>>'"
)
STATUS = "document.getElementById('status').textContent"
LINK_SAID = "document.getElementById('link-said').textContent"
ALERT = "document.getElementById('alert').textContent"
EQUAL = "It runs, and every bit equals the CPU kernels."
RUNS = "It runs."
FOLDER = paths.root() / "build/web"


def with_vela(test):
    """Vela as WebAssembly takes longer to build than `make test` has for it: `make web` does."""
    return pytest.mark.slow(pytest.mark.usefixtures("vela")(test))


@pytest.fixture
def ready(compiled, tmp_path):
    """Compiles a model as a file of the same name."""
    folder = tmp_path / "compiled"
    folder.mkdir()

    def compile_here(source, npu="ethos-u55-128"):
        (folder / source.name).write_bytes(compiled(source, npu).read_bytes())
        return folder / source.name

    return compile_here


@pytest.fixture
def server():
    needs.web()
    if not (FOLDER / "index.html").is_file():
        needs.missing("the page is not there; build it with: make page")
    if find() is None:
        needs.missing("chromium is missing: apt-get install chromium")
    with serve(FOLDER) as made:
        yield made


@pytest.fixture
def vela(server):
    if not (FOLDER / "vela.wasm").is_file():
        needs.missing("the page has no Vela; build it with: make web")


@pytest.fixture
def address(server):
    return f"http://localhost:{server.server_port}/"


@contextlib.contextmanager
def opened(address, *options):
    """The page, with its prompt."""
    with contextlib.closing(Page(*options)) as made:
        made.look(1400, 1000, "light")
        start = time.monotonic()
        made.open(address)
        made.wait_for(PROMPT)
        print(f"from open to prompt: {time.monotonic() - start:.2f} s")
        yield made
        assert made.messages == []
        assert all(request.startswith((address, "blob:", "data:")) for request in made.requests)


@pytest.fixture
def page(address):
    with opened(address) as made:
        yield made


def choose(page, path):
    start = time.monotonic()
    page.evaluate("delete document.body.dataset.done, delete document.body.dataset.timed")
    page.choose_file("#file", path)
    page.wait_for("document.body.dataset.done")
    print(f"from drop to result: {time.monotonic() - start:.2f} s")
    return page.evaluate(STATUS)


def choose_npu(page, npu):
    page.evaluate(
        "(() => { const s = document.getElementById('target');"
        f"s.value = [...s.options].find(o => o.textContent === '{npu}').value;"
        "s.dispatchEvent(new Event('change')); })()"
    )
    page.wait_for(PROMPT)


def type_line(page, text):
    page.evaluate("ethosuTerminal.focus()")
    page.press(f"{text}\r")


def click(page, name):
    page.evaluate(f"document.getElementById('{name}').click()")


def run_program(page, example):
    """Run the program of an example."""
    rows = json.loads((FOLDER / "examples.json").read_text())
    (program,) = (row["script"] for row in rows if row["name"] == example)
    page.evaluate(f"document.getElementById('script').value = {json.dumps(program)}")
    click(page, "run")
    page.wait_for_screen("(Ctrl-C ends it)", wrong="Traceback")


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


def test_wake_word_is_heard_in_a_recording(page, ready):
    assert choose(page, ready(words.load("okay_nabu").model)) == RUNS
    run_program(page, "okay_nabu")
    page.choose_file("#sound-file", FOLDER / "examples/okay_nabu.wav")
    page.wait_for("document.getElementById('said').textContent.startsWith('Heard okay_nabu at ')")
    assert "the limit is 0." in page.evaluate("document.getElementById('level-text').textContent")


def test_wake_word_is_heard_by_the_microphone(address, ready):
    options = (
        "--use-fake-device-for-media-stream",
        "--use-fake-ui-for-media-stream",
        f"--use-file-for-fake-audio-capture={FOLDER / 'examples/okay_nabu.wav'}",
    )
    with opened(address, *options) as page:
        assert choose(page, ready(words.load("okay_nabu").model)) == RUNS
        run_program(page, "okay_nabu")
        click(page, "microphone")  # Chromium plays the file again and again
        heard = "document.getElementById('said').textContent.startsWith('Heard okay_nabu at ')"
        page.wait_for(heard)
        click(page, "microphone")
        page.wait_for("document.getElementById('microphone').ariaPressed === 'false'")


@pytest.mark.parametrize(
    "name, breaks",
    [
        ("microphone", "AudioWorklet.prototype.addModule"),
        ("microphone", "AudioContext.prototype.createMediaStreamSource"),
        ("camera", "HTMLMediaElement.prototype.play"),
    ],
)
def test_what_does_not_start_is_off_again(address, name, breaks):
    options = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
    with opened(address, *options) as page:
        page.evaluate(
            f"{breaks} = () => {{ globalThis.disabled = document.getElementById('{name}').disabled;"
            " throw new Error('broken'); };"
            "const real = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);"
            "navigator.mediaDevices.getUserMedia = async (wanted) =>"
            " (globalThis.taken = await real(wanted)); 0"
        )
        click(page, name)
        page.wait_for(f"{ALERT} === 'The {name} does not start: broken'")
        assert page.evaluate("taken.getTracks().map(track => track.readyState)") == ["ended"]
        button = f"document.getElementById('{name}')"
        assert page.evaluate("disabled") and not page.evaluate(f"{button}.disabled")
        assert page.evaluate(f"{button}.ariaPressed") == "false"


def test_objects_of_a_picture_and_of_the_camera(address, tmp_path, ready):
    source = tmp_path / "discs.tflite"
    source.write_bytes(objects.discs_model())
    options = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
    labels = (
        "[...document.querySelectorAll('#scores li')].map(e => e.textContent.split(':')[0]).sort()"
    )
    with opened(address, *options) as page:
        assert choose(page, ready(source)) == RUNS
        run_program(page, "discs")
        page.choose_file("#picture-file", FOLDER / "examples/discs.png")
        page.wait_for("document.querySelectorAll('#scores li').length")
        assert page.evaluate(labels) == sorted(label for label, *_ in objects.DISCS)
        page.screenshot(paths.work("web_parts") / "page-objects.png")
        click(page, "camera")  # Chromium's shows a green picture
        page.wait_for(f"{labels}.length && {labels}.every(label => label === 'green')")


def test_what_is_missing_is_said(page):
    """No microphone, no sound, no picture: a sentence each."""
    click(page, "microphone")
    page.wait_for(f"{ALERT}.includes('microphone')")
    for kind, what in (("sound", "sound file"), ("picture", "picture")):
        page.choose_file(f"#{kind}-file", FOLDER / "style.css")
        page.wait_for(f"{ALERT} === 'This is no {what} that the browser reads.'")
    type_line(page, "import browser; browser.show('no JSON')")
    page.wait_for(f"{ALERT} === 'browser.show() got no JSON: no JSON'")
    type_line(page, "browser.show('[1]'); print(6 * 7)")
    page.wait_for(f"{ALERT}.startsWith('browser.show() takes level')")
    page.wait_for_screen("\n42\n")


def test_a_link_carries_the_program(page, address):
    program = "# ä & ü\nprint('from the link', 6 * 7)\n"
    page.evaluate(f"document.getElementById('script').value = {json.dumps(program)}")
    click(page, "link")
    page.wait_for("document.getElementById('link-said').textContent")
    link = page.evaluate("location.href")
    page.open("about:blank")
    page.open(link)
    page.wait_for(PROMPT)
    assert page.evaluate("document.getElementById('script').value") == program
    # Whoever made the link is not the one who opens it.
    assert page.evaluate(LINK_SAID) == "“Run” starts the program of this link."
    assert "from the link" not in page.screen()
    click(page, "run")
    page.wait_for_screen("from the link 42")
    assert page.evaluate(LINK_SAID) == ""
    assert all("from" not in request for request in page.requests)


def test_a_link_carries_board_and_memory_mode(page):
    chosen = (
        "['target', 'mode'].map(id => document.getElementById(id).selectedOptions[0].textContent)"
    )
    change = (
        "(() => {{ const s = document.getElementById('{}'); s.selectedIndex = s.length - 1;"
        "s.dispatchEvent(new Event('change')); }})()"
    )
    for name in ("target", "mode"):
        page.evaluate(change.format(name))
    click(page, "link")
    page.wait_for(LINK_SAID)
    link, before = page.evaluate("location.href"), page.evaluate(chosen)
    assert "board=" in link and ", ethos-u" in before[0]
    page.open("about:blank")
    page.open(link)
    page.wait_for(PROMPT)
    assert page.evaluate(chosen) == before


@pytest.mark.parametrize(
    "words, sentence",
    [
        (
            "npu=ethos-u99",
            "The link asks for NPU ethos-u99, which this page does not have. It has ",
        ),
        ("npu=ethos-u55-128&mode=None", "The link asks for memory mode None of ethos-u55-128, "),
        ("example=nothing", "The link asks for example nothing, which this page does not have. "),
    ],
)
def test_a_link_to_what_is_not_there_gets_a_sentence(page, address, words, sentence):
    page.evaluate(f"location.hash = '{words}'")
    page.wait_for(f"{ALERT}.startsWith('{sentence}')")
    page.open("about:blank")
    page.open(f"{address}#{words}")
    page.wait_for(PROMPT)
    assert page.evaluate(ALERT).startswith(sentence)


def test_another_link_in_the_same_page_is_followed(page):
    page.evaluate("location.hash = 'npu=ethos-u65-256&script=print(1)'")
    page.wait_for("document.getElementById('script').value === 'print(1)'")
    page.wait_for(PROMPT)
    type_line(page, "import ethosu; ethosu.npus()")
    page.wait_for_screen("ethos-u65-256")


@with_vela
def test_a_link_carries_example_and_program(page, address):
    page.open("about:blank")
    page.open(f"{address}#example=okay_nabu&npu=ethos-u85-256&script=print(6*7)")
    page.wait_for("document.body && document.body.dataset.done")
    assert page.evaluate(STATUS) == EQUAL
    assert "script=print" in page.evaluate("location.hash")
    page.wait_for_screen("<Model ethos-u85-256")
    assert "\n42\n" not in page.screen()
    click(page, "run")
    page.wait_for_screen("\n42\n")


@with_vela
@pytest.mark.parametrize("name", ["okay_nabu", "hey_jarvis", "discs", "small_cnn", "mobilenet_v2"])
def test_each_example_runs(page, address, name):
    page.open("about:blank")
    page.open(f"{address}#example={name}")
    page.wait_for("document.body && document.body.dataset.done")
    assert page.evaluate(STATUS) == EQUAL
    page.wait_for_screen("(Ctrl-C ends it)")
    ready = "document.querySelector('#recording:not([hidden]), #picture:not([hidden])')"
    if page.evaluate(f"!!{ready}"):
        page.evaluate(f"{ready}.click()")
        page.wait_for("document.querySelector('#said').textContent || "
            "document.querySelectorAll('#scores li').length")  # fmt: skip


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
