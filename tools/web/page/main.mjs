// SPDX-License-Identifier: MIT
/** The page: takes a model, has Vela compile it, gives it to the board and compares the results. */
import { FitAddon } from "./addon-fit.mjs";
import { BoardClient, runProgram } from "./board_client.mjs";
import { planned } from "./plan.mjs";
import { clockMhz, layers, remarks } from "./report.mjs";
import { ROM_BYTES } from "./ring.mjs";
import { configuration } from "./vela.mjs";
import { Model, put } from "./tflite.mjs";
import { Terminal } from "./xterm.mjs";

const FIRST_NPU = "ethos-u55-128";
const BROWSERS = "it needs WebAssembly with SIMD and exceptions, as Chrome 95, Firefox 100 and Safari 16.4 have them";
/** What keeps the state of a streaming model: nothing is computed there. */
const STATE = /^(Variable|CallOnce)/;
/** Lines of Vela that the page shows. */
const REMARKS = 3;
const RELOADED = "reloaded for headers";
const THEMES = {
    light: { background: "#ffffff", foreground: "#1b1f24", cursor: "#0a58ca", selectionBackground: "#b6d4fe" },
    dark: { background: "#0d1117", foreground: "#e6edf3", cursor: "#79b8ff", selectionBackground: "#264f78" },
};

const DTYPES = { b: "int8", B: "uint8", h: "int16", H: "uint16", i: "int32", q: "int64", f: "float32", "?": "bool" };

const element = (id) => document.getElementById(id);
const count = (number) => Math.round(number).toLocaleString("en");
const state = { files: new Map(), job: null, last: null };

function fail(sentence) {
    element("alert").textContent = sentence;
}

// ---- headers that SharedArrayBuffer needs ----

/** Is the page isolated? Else the service worker adds the headers, for the page loaded again. */
async function isolate() {
    const worker = navigator.serviceWorker;
    if (worker) {
        await worker.register("sw.js").catch(() => {});
    }
    if (globalThis.crossOriginIsolated) {
        sessionStorage.removeItem(RELOADED);
        return true;
    }
    if (worker && !sessionStorage.getItem(RELOADED)) {
        sessionStorage.setItem(RELOADED, "yes");
        await worker.ready;
        location.reload();
        return false;
    }
    fail("The board cannot start: this browser gives the page no shared memory. Open it over https, or at localhost, with storage allowed.");
    return false;
}

async function fetched(name) {
    const response = await fetch(name);
    if (!response.ok) {
        throw new Error(`${name} could not be loaded (${response.status})`);
    }
    return response;
}

const compiledModules = new Map();

/** A WebAssembly module, loaded when it is first needed. */
function wasm(name) {
    if (!compiledModules.has(name)) {
        const made = fetched(name).then(async (response) => WebAssembly.compile(await response.arrayBuffer()));
        made.catch(() => compiledModules.delete(name));
        compiledModules.set(name, made);
    }
    return compiledModules.get(name);
}

// ---- the prompt ----

function makeTerminal() {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const theme = () => (dark.matches ? THEMES.dark : THEMES.light);
    const terminal = new Terminal({ fontSize: 13, screenReaderMode: true, theme: theme(), scrollback: 5000, minimumContrastRatio: 4.5 });
    const fit = new FitAddon();
    terminal.loadAddon(fit);
    terminal.open(element("terminal"));
    fit.fit();
    new ResizeObserver(() => fit.fit()).observe(element("terminal"));
    dark.addEventListener("change", () => (terminal.options.theme = theme()));
    // Else a keyboard could not leave it.
    terminal.attachCustomKeyEventHandler((event) => !(event.key === "Tab" && event.shiftKey));
    terminal.textarea.setAttribute("aria-label", "Python prompt of the board; Shift-Tab leaves it");
    return terminal;
}

function start(module, terminal) {
    const board = new BoardClient(module, { npus: [target().npu], files: state.files }, {
        output(bytes) {
            terminal.write(bytes, () => board.shown(bytes.length));
        },
        restarted() {
            terminal.reset();
        },
        failed(why) {
            fail(`The board stopped: ${why}. “New board” starts it again.`);
        },
    });
    return board;
}

// ---- what to compile for ----

function option(text, value) {
    const made = document.createElement("option");
    made.textContent = text;
    made.value = value;
    return made;
}

function target() {
    return state.settings.targets[Number(element("mode").value)];
}

function fillModes() {
    const first = state.settings.targets[Number(element("target").value)];
    const same = state.settings.targets
        .map((each, index) => [each, index])
        .filter(([each]) => each.npu === first.npu && each.board === first.board);
    element("mode").replaceChildren(...same.map(([each, index]) => option(each.memory_mode, index)));
}

function fillTargets() {
    const groups = { "An NPU": [], "A board": [] };
    state.settings.targets.forEach((each, index) => {
        if (each.standard) {
            groups[each.board ? "A board" : "An NPU"].push(option(each.board ? `${each.board}, ${each.npu}` : each.npu, index));
        }
    });
    for (const [label, options] of Object.entries(groups)) {
        const group = document.createElement("optgroup");
        group.label = label;
        group.append(...options);
        element("target").append(group);
    }
    const asked = new URLSearchParams(location.hash.slice(1)).get("npu") ?? FIRST_NPU;
    const index = state.settings.targets.findIndex((each) => each.standard && each.npu === asked);
    element("target").value = Math.max(index, 0);
    fillModes();
}

// ---- the steps after a drop ----

function status(text, kind = "") {
    element("status").textContent = text;
    element("status").className = kind;
}

function step(text, kind = "") {
    const item = document.createElement("li");
    item.textContent = text;
    item.className = kind;
    element("steps").append(item);
}

function compile(module, model, signal) {
    return new Promise((done, failed) => {
        const worker = new Worker("vela_worker.mjs", { type: "module" });
        const end = (settle, value) => {
            worker.terminate();
            settle(value);
        };
        worker.addEventListener("message", ({ data }) =>
            data.refused ? end(failed, new Error(data.refused)) : end(done, data));
        worker.addEventListener("error", (event) => end(failed, new Error(event.message)));
        signal.addEventListener("abort", () => end(failed, signal.reason));
        worker.postMessage({ module, model, settings: state.settings, target: target() });
    });
}

function showFigures(rows) {
    const parts = rows.flatMap(([name, value]) => {
        const [term, text] = [document.createElement("dt"), document.createElement("dd")];
        term.textContent = name;
        text.textContent = value;
        return [term, text];
    });
    element("figures").append(...parts);
}

function showLayers(found) {
    const total = found.reduce((sum, layer) => sum + layer.cycles, 0) || 1;
    const lines = found.map((layer) => {
        const row = document.createElement("tr");
        const cells = [layer.name, layer.kind, layer.where, count(layer.cycles), count(layer.macs), `${((100 * layer.cycles) / total).toFixed(1)} %`];
        cells.forEach((text, i) => {
            const cell = row.insertCell();
            cell.textContent = text;
            cell.className = i >= 3 ? "number" : "";
        });
        return row;
    });
    element("layers").tBodies[0].replaceChildren(...lines);
}

function offer(name, bytes) {
    const link = element("download");
    URL.revokeObjectURL(link.href);
    link.href = URL.createObjectURL(new Blob([bytes]));
    link.download = name;
    element("code").textContent = `import ethosu\nmodel = ethosu.Model("/rom/${name}")\noutputs = model.predict([inputs])`;
}

/** A file's name for Python and a ROM. */
function plainName(name) {
    const base = name.replace(/\.tflite$/i, "").replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, 60);
    return `${base || "model"}.tflite`;
}

function checkSize(name, size) {
    const used = [...state.files.values()].reduce((sum, each) => sum + each.length, 0);
    const room = ROM_BYTES - (1 << 16);
    if (size > room) {
        throw new Error(`${name} has ${count(size)} bytes; this board has room for ${count(room)}.`);
    }
    if (used + size > room) {
        state.files.clear();
    }
}

async function compiledModel(bytes, original, signal) {
    if (original.compiled) {
        step("It is compiled already: Vela is not asked.");
        return { bytes, report: null };
    }
    status("Vela is loading …");
    const module = await wasm("vela.wasm");
    status(`Vela compiles for ${target().npu} …`);
    const made = await compile(module, bytes, signal);
    step(`Vela compiled it for ${target().npu} in ${count(made.ms)} ms.`);
    const notes = { vela_version: new TextEncoder().encode(state.settings.vela_version) };
    return { bytes: put(made.model, notes), report: made.report };
}

/** "Svdf (svdf): why". */
function left({ kind, name, why }) {
    return `${kind} (${name})${why ? `: ${why}` : ""}`;
}

function showReport(report, original, compiled) {
    const estimate = report.performance;
    const clock = clockMhz(configuration(state.settings, target()), target());
    const ms = clock ? `, ${(estimate.cycles / clock / 1000).toPrecision(3)} ms at ${count(clock)} MHz` : "";
    const found = layers(report, original, compiled);
    const onCpu = found.filter((layer) => layer.where === "CPU" && !STATE.test(layer.kind));
    showFigures([
        ["Vela's estimate", `${count(estimate.cycles)} cycles${ms}`],
        ["MACs", count(estimate.macs)],
        ["Left to the CPU", onCpu.map(left).join("\n") || "nothing"],
        ...Object.entries(estimate.memories).filter(([, bytes]) => bytes).map(([name, bytes]) => [`Memory ${name}`, `${count(bytes)} bytes`]),
    ]);
    showLayers(found);
    const said = remarks(report);
    said.slice(0, REMARKS).forEach((line) => step(`Vela: ${line}`));
    if (said.length > REMARKS) {
        step(`Vela says ${said.length - REMARKS} more things of this kind.`);
    }
}

/** "input: int8, 1 × 16 × 16 × 3". */
function ends(tensors) {
    return tensors.map(([name, kind, shape]) => `${name}: ${DTYPES[kind] ?? kind}, ${shape.join(" × ") || "one value"}`).join("; ");
}

/** What the CPU kernels say, in words. */
function showVerdict(run, missing) {
    const time = run.us == null ? "" : `; one inference took ${Number((run.us / 1000).toPrecision(2))} ms here`;
    if (run.wrong > 0) {
        status(`${count(run.wrong)} of ${count(run.bytes)} bytes differ from the CPU kernels.`, "bad");
    } else if (run.bytes > 0) {
        status("It runs, and every bit equals the CPU kernels.", "good");
        step(`${run.steps} random inputs, ${count(run.bytes)} bytes of output: all equal to the runtime's CPU kernels on the model before Vela${time}.`);
    } else {
        status("It runs.", "good");
        step(`It was not compared with CPU kernels: ${missing}${time}.`);
    }
}

async function compare(module, files, program, signal) {
    const seen = {};
    await runProgram(module, { npus: [target().npu], files, program, signal }, (row) => (seen[row.kind] = row));
    return seen;
}

/** The model as it was, to run on the CPU alone; or why that cannot be. */
function referenceOf(module, bytes, original) {
    if (original.compiled) {
        return { missing: "the model as it was before Vela is not here" };
    }
    try {
        return { bytes: planned(module, bytes) };
    } catch (error) {
        const operator = /operator \d+ \((\w+)\)/.exec(error.message);
        return { missing: operator ? `this board has no CPU kernel for ${operator[1]}` : error.message };
    }
}

async function handle(name, bytes, signal) {
    element("steps").replaceChildren();
    element("figures").replaceChildren();
    element("layers").tBodies[0].replaceChildren();
    element("details").hidden = true;
    checkSize(name, bytes.length);
    const original = new Model(bytes);
    step(`${name}: ${count(bytes.length)} bytes, ${original.operators.length} operators.`);
    const module = await wasm("ethosu.wasm");
    const { bytes: compiled, report } = await compiledModel(bytes, original, signal);
    signal.throwIfAborted();
    const model = planned(module, compiled);
    const plain = plainName(name);
    state.files.set(plain, model);
    state.board.restart([target().npu], state.files);
    await state.board.type(`import ethosu; m = ethosu.Model("/rom/${plain}"); m\r`);
    if (report) {
        showReport(report, original, new Model(compiled));
    }
    offer(plain, model);
    element("details").hidden = false;
    status("The board compares it with the CPU kernels …");

    const reference = referenceOf(module, bytes, original);
    const files = new Map([["model", model]]);
    if (reference.bytes) {
        files.set("original", reference.bytes);
    }
    const paths = `COMPILED = "/rom/model"\nORIGINAL = ${reference.bytes ? '"/rom/original"' : "None"}\n`;
    const check = await (await fetched("check.py")).text();
    const seen = await compare(module, files, paths + check, signal);
    const wrong = seen.model?.error ?? seen.run?.error;
    if (wrong) {
        throw new Error(wrong);
    }
    showFigures([
        ["Model", `${count(model.length)} bytes, ${count(seen.model.info.arena_size)} bytes of arena`],
        ["Inputs", ends(seen.model.inputs)],
        ["Outputs", ends(seen.model.outputs)],
    ]);
    showVerdict(seen.run, seen.reference?.error ?? reference.missing);
}

/** A model was chosen: work on the one before it ends. */
async function take(name, bytes) {
    state.job?.abort(new Error("another model was chosen"));
    const job = (state.job = new AbortController());
    state.last = { name, bytes };
    element("alert").textContent = "";
    try {
        await handle(name, bytes, job.signal);
    } catch (error) {
        if (state.job === job) {
            status(`${name} does not run.`, "bad");
            step(error.message, "bad");
        }
    }
    document.body.dataset.done = name;
}

async function takeFiles(list) {
    for (const file of list) {
        try {
            checkSize(file.name, file.size);
            const bytes = new Uint8Array(await file.arrayBuffer());
            if (/\.tflite$/i.test(file.name) || list.length === 1 && !/\.(py|txt|npy|bin)$/i.test(file.name)) {
                await take(file.name, bytes);
            } else {
                state.files.set(file.name, bytes);
                state.board.restart([target().npu], state.files);
                status(`${file.name} is /rom/${file.name}.`);
            }
        } catch (error) {
            status(error.message, "bad");
        }
    }
}

async function takeExample() {
    const name = element("example").value;
    if (!name) {
        return;
    }
    history.replaceState(null, "", `#example=${encodeURIComponent(name)}&npu=${target().npu}`);
    try {
        const response = await fetched(`examples/${name}`);
        await take(name, new Uint8Array(await response.arrayBuffer()));
    } catch (error) {
        status(error.message, "bad");
    }
}

async function retarget() {
    if (state.last) {
        await take(state.last.name, state.last.bytes);
    } else {
        state.board.restart([target().npu], state.files);
    }
}

function listen(module, terminal) {
    terminal.onData((text) => state.board.type(text));
    const press = (id, act) => element(id).addEventListener("click", () => {
        act();
        terminal.focus();
    });
    press("interrupt", () => state.board.type("\x03"));
    press("reset", () => state.board.type("\x03\x04"));
    press("again", () => {
        state.board.end();
        terminal.reset();
        element("alert").textContent = "";
        state.board = start(module, terminal);
    });
    element("file").addEventListener("change", (event) => takeFiles([...event.target.files]));
    element("example").addEventListener("change", takeExample);
    element("target").addEventListener("change", () => {
        fillModes();
        retarget();
    });
    element("mode").addEventListener("change", retarget);
    for (const name of ["dragover", "dragleave", "drop"]) {
        document.addEventListener(name, (event) => {
            event.preventDefault();
            element("drop").classList.toggle("over", name === "dragover");
            if (name === "drop") {
                takeFiles([...event.dataTransfer.files]);
            }
        });
    }
}

async function main() {
    if (!(await isolate())) {
        return;
    }
    const [settings, examples] = await Promise.all(
        ["settings.json", "examples.json"].map(async (name) => (await fetched(name)).json()),
    );
    state.settings = settings;
    element("example").append(...examples.map(({ name, text }) => option(`${name}: ${text}`, name)));
    fillTargets();
    let module;
    try {
        module = await wasm("ethosu.wasm");
    } catch (error) {
        fail(error instanceof WebAssembly.CompileError ? `This browser cannot run the board: ${BROWSERS}.` : error.message);
        return;
    }
    const terminal = makeTerminal();
    globalThis.ethosuTerminal = terminal; // for a script that drives the page
    state.board = start(module, terminal);
    listen(module, terminal);
    const example = new URLSearchParams(location.hash.slice(1)).get("example");
    if (examples.some(({ name }) => name === example)) {
        element("example").value = example;
        takeExample();
    }
}

main().catch((error) => fail(`The page did not start: ${error.message}`));
