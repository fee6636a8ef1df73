// SPDX-License-Identifier: MIT
/** The page: compiles a model with Vela, runs it on the board and compares the results. */
import { draw } from "./answers/arena.mjs";
import { ask } from "./answers/ask.mjs";
import { needOf, rowsOf } from "./answers/fit.mjs";
import { latencies } from "./answers/latency.mjs";
import { clockMhz, layers, remarks } from "./answers/report.mjs";
import { describe, offer, showBoards, showCode, showFigures, showLatency, showLayers, showRuntimes, showVerdict, status, step } from "./answers/result.mjs";
import { verdicts } from "./answers/runtimes.mjs";
import { Targets } from "./answers/targets.mjs";
import { BoardClient, runProgram } from "./board/board_client.mjs";
import { ROM_BYTES } from "./board/ring.mjs";
import { Feeds } from "./media/feeds.mjs";
import { connectPrograms } from "./media/programs.mjs";
import { clear, show } from "./media/shown.mjs";
import { isModel } from "./model/file_kinds.mjs";
import { Model } from "./model/model.mjs";
import { planned } from "./model/plan.mjs";
import { build } from "./model/romfs.mjs";
import { copyMetadata, put } from "./model/tflite.mjs";
import { configuration } from "./model/vela.mjs";
import examples from "examples.json"; // both by install_page.py
import settings from "settings.json";

/** Full reset of the terminal (RIS). It queues behind earlier output; Terminal.reset() would overtake it. */
const RESET = "\x1bc";
const FIRST_NPU = "ethos-u55-128";
const BROWSERS = "it needs WebAssembly with SIMD and exceptions, as in Chrome 95, Firefox 100 and Safari 16.4 or newer";
/** Number of Vela's remarks that the page shows. */
const REMARKS = 3;
const FIRST_SCRIPT = "import ethosu, os\n\nprint(ethosu.npus(), os.listdir('/rom'))\n";
const RELOADED = "reloaded for headers";
/** Capacity of /rom, without the space for its directory. */
const ROM_ROOM = ROM_BYTES - (1 << 16);
const element = (id) => document.getElementById(id);
const count = (number) => Math.round(number).toLocaleString("en");
const parameters = () => new URLSearchParams(location.hash.slice(1));
const state = { settings, examples, files: new Map(), job: null, last: null, example: null, need: null };

function fail(message) {
    element("alert").textContent = message;
}

// ---- headers that SharedArrayBuffer needs ----

/** Whether the page is isolated; if not, reload it with the headers that the service worker adds. */
async function isolate() {
    try {
        const registered = navigator.serviceWorker.register("sw.js");
        registered.catch(() => {});
        if (globalThis.crossOriginIsolated) {
            // Without waiting: it asks the server for a newer service worker.
            sessionStorage.removeItem(RELOADED);
        } else if (!sessionStorage.getItem(RELOADED)) {
            await registered;
            sessionStorage.setItem(RELOADED, "yes");
            await navigator.serviceWorker.ready;
            location.reload();
            return false;
        }
    } catch {
        // Storage is denied, or the address is not https: fine if the server sets the headers.
    }
    if (globalThis.crossOriginIsolated) {
        return true;
    }
    fail("The board cannot start: this browser gives the page no shared memory. Open it over https, or at localhost, with storage allowed.");
    return false;
}

async function fetched(name) {
    if (name === "vela.wasm" && !HAS_VELA) { // of install_page.py
        throw new Error("compile it first with `ethosu compile`, because this page was built without Vela");
    }
    const response = await fetch(new URL(name, import.meta.url));
    if (response.status === 404) {
        throw new Error(`${name} is no longer there: there is a new build of this page; reload it`);
    }
    if (!response.ok) {
        throw new Error(`${name} could not be loaded (${response.status})`);
    }
    return response;
}

const compiledModules = new Map();

/** A WebAssembly module, loaded on first use. */
function wasm(name) {
    if (!compiledModules.has(name)) {
        const loading = fetched(name).then(async (response) =>
            // While it arrives, if the server knows its type.
            response.headers.get("Content-Type") === "application/wasm"
                ? WebAssembly.compileStreaming(response)
                : WebAssembly.compile(await response.arrayBuffer()),
        );
        loading.catch(() => compiledModules.delete(name));
        compiledModules.set(name, loading);
    }
    return compiledModules.get(name);
}

// ---- the prompt ----

/** @param {Promise<Terminal>} terminal  the board starts while it loads */
function start(module, terminal) {
    const board = new BoardClient(module, { npus: [state.targets.chosen.npu], files: state.files, feeds: state.feeds }, {
        output(bytes) {
            terminal.then((ready) => ready.write(bytes, () => board.shown(bytes.length)));
        },
        restarted() {
            terminal.then((ready) => ready.write(RESET));
        },
        show(text) {
            try {
                show(text);
            } catch (error) {
                fail(error.message);
            }
        },
        failed(why) {
            fail(`The board stopped: ${why}. “New board” starts it again.`);
        },
    });
    return board;
}

// ---- links ----

/** The parameters of a link to the current selection. */
function link(example, script) {
    const { npu, board, memory_mode: mode } = state.targets.chosen;
    const values = { example: example?.name, npu, board, mode, script };
    return new URLSearchParams(Object.entries(values).filter(([, value]) => value != null));
}

function showLinked() {
    element("link-status").textContent = state.linked ? "“Run” starts the program of this link." : "";
}

/**
 * Apply the parameters of the address. Its program runs only after "Run", because a link may come
 * from a third party.
 *
 * @returns {{example: string | null, script: string | null}} `example`: the name of the chosen one
 */
function follow() {
    const given = parameters();
    const [name, script] = [given.get("example"), given.get("script")];
    element("alert").textContent = "";
    state.linked = script !== null;
    showLinked();
    if (state.linked) {
        element("script").value = script;
    }
    try {
        if (name !== null && !state.examples.some((each) => each.name === name)) {
            const known = state.examples.map((each) => each.name).join(", ");
            throw new Error(`The link asks for example ${name}, which this page does not have. It has ${known}.`);
        }
        if (given.has("npu") || given.has("board")) {
            state.targets.choose(given.get("npu"), given.get("board"), given.get("mode"));
        }
    } catch (error) {
        fail(error.message);
        return { example: null, script };
    }
    return { example: name, script };
}

// ---- the steps after a drop ----

function compile(module, model, signal) {
    return new Promise((done, failed) => {
        const worker = new Worker(new URL("vela_worker.js", import.meta.url), { type: "module" });
        const end = (settle, value) => {
            worker.terminate();
            settle(value);
        };
        worker.addEventListener("message", ({ data }) =>
            data.error ? end(failed, new Error(data.error)) : end(done, data));
        worker.addEventListener("error", (event) => end(failed, new Error(event.message)));
        signal.addEventListener("abort", () => end(failed, signal.reason));
        worker.postMessage({ module, model, settings: state.settings, target: state.targets.chosen });
    });
}

/** A file's name without special characters, for Python and ROMFS. */
function plainName(name) {
    const base = name.replace(/\.tflite$/i, "").replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, 60);
    return `${base || "model"}.tflite`;
}

function checkSize(size) {
    if (size > ROM_ROOM) {
        throw new Error(`it has ${count(size)} bytes, but this board has room for ${count(ROM_ROOM)}`);
    }
}

/** Copy a file to /rom; earlier files are removed if there is no room. */
function store(name, bytes) {
    const used = [...state.files.values()].reduce((sum, each) => sum + each.length, 0);
    if (used + bytes.length > ROM_ROOM) {
        step(`/rom was full: removed ${[...state.files.keys()].join(", ")}.`);
        state.files.clear();
    }
    state.files.set(name, bytes);
}

/** Choose the NPU of a compiled model, which runs on no other. */
function chooseNpuOfModel(npu) {
    if (npu !== state.targets.chosen.npu && state.targets.of(npu, null).length) {
        state.targets.choose(npu);
        step(`It is compiled for ${npu}: the board now has this NPU.`);
    }
}

async function compiledModel(bytes, original, signal) {
    if (original.call) {
        step("It is already compiled.");
        return { bytes, report: null };
    }
    status("Vela is loading …");
    const module = await wasm("vela.wasm");
    status(`Vela compiles for ${state.targets.chosen.npu} …`);
    const compiled = await compile(module, bytes, signal);
    step(`Vela compiled it for ${state.targets.chosen.npu} in ${count(compiled.ms)} ms.`);
    const metadata = { vela_version: new TextEncoder().encode(state.settings.vela_version) };
    const model = put(compiled.model, metadata);
    return { bytes: copyMetadata(bytes, original.entries, model), report: compiled.report };
}

/** "SVDF (svdf): why". */
function left([operator, output, reason]) {
    return `${operator} (${output})${reason ? `: ${reason}` : ""}`;
}

async function showReport(report, original, compiled) {
    const estimate = report.performance;
    const clock = clockMhz(configuration(state.settings, state.targets.chosen), state.targets.chosen);
    const ms = clock ? `, ${(estimate.cycles / clock / 1000).toPrecision(3)} ms at ${count(clock)} MHz` : "";
    const rows = layers(report, original, compiled);
    const found = await remarks(askRules, report, original, compiled, state.settings.aside);
    showFigures([
        ["Vela's estimate", `${count(estimate.cycles)} cycles${ms}`],
        ["MACs", count(estimate.macs)],
        ["Left to the CPU", found.left.map(left).join("\n") || "nothing"],
        ...Object.entries(estimate.memories).filter(([, bytes]) => bytes).map(([name, bytes]) => [`Memory ${name}`, `${count(bytes)} bytes`]),
    ]);
    showLayers(rows);
    found.others.slice(0, REMARKS).forEach((line) => step(`Vela: ${line}`));
    if (found.others.length > REMARKS) {
        step(`Vela printed ${found.others.length - REMARKS} more remarks.`);
    }
}

async function compare(module, files, program, signal) {
    const rows = {};
    await runProgram(module, { npus: [state.targets.chosen.npu], files, program, signal }, (row) => (rows[row.kind] = row));
    return rows;
}

/** The original model, to run on the CPU alone; or the reason why that is impossible. */
function referenceOf(module, bytes, original) {
    if (original.call) {
        return { missing: "the original model, before Vela, is not available" };
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
    state.need = state.shown = null;
    for (const table of ["layers", "latency", "boards"]) {
        element(table).tBodies[0].replaceChildren();
    }
    for (const part of ["of-boards", "of-runtimes", "details"]) {
        element(part).hidden = true;
    }
    checkSize(bytes.length);
    const module = await wasm("ethosu.wasm");
    const original = new Model(module, bytes);
    step(`${name}: ${count(bytes.length)} bytes, ${original.operators.length} operator${original.operators.length === 1 ? "" : "s"}.`);
    if (original.call) {
        chooseNpuOfModel(original.call.npu);
    }
    const { bytes: compiled, report } = await compiledModel(bytes, original, signal);
    signal.throwIfAborted();
    const made = new Model(module, compiled);
    const others = showOthers(made, signal);
    const model = planned(module, compiled);
    const placed = new Model(module, model);
    const plain = plainName(name);
    store(plain, model);
    if (state.example && !state.linked) {
        await state.programs.run();
    } else {
        restart();
        await state.board.type(`import ethosu; m = ethosu.Model("/rom/${plain}"); m\r`);
    }
    element("of-vela").hidden = !report;
    if (report) {
        await showReport(report, original, made);
    }
    element("arena").replaceChildren(draw(placed) ?? "Used only by the NPU, as placed by Vela.");
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
    const rows = await compare(module, files, paths + check, signal);
    const failure = rows.model?.error ?? rows.run?.error;
    if (failure) {
        throw new Error(failure);
    }
    showFigures([
        ["Model", `${count(model.length)} bytes, ${count(rows.model.info.arena_size)} bytes of arena`],
        ["Inputs", describe(rows.model.inputs)],
        ["Outputs", describe(rows.model.outputs)],
    ]);
    state.need = needOf(placed, model, rows.model.info);
    await showFits();
    signal.throwIfAborted();
    showCode(plain, rows.model.inputs);
    state.shown = { name: plain, bytes: model };
    showVerdict(rows.run, rows.reference?.error ?? reference.missing);
    await others;
    document.body.dataset.done = name;
    if (placed.call) {
        await showLatencies(module, model, placed.constants, signal);
    }
}

/** Asks the rules of the tools. */
async function askRules(calls, signal) {
    const names = ["ask.py", "figures.py", "remarks.py", "rules.py"];
    state.rules ??= Promise.all(names.map(async (name) => [name, await (await fetched(name)).text()]));
    state.rules.catch(() => (state.rules = null));
    return ask(await wasm("ethosu.wasm"), new Map(await state.rules), calls, signal);
}

/** Show which boards can run the model, beside a program that keeps a part of the heap. */
async function showFits() {
    const { need } = state;
    element("of-boards").hidden = !need;
    const reserve = Math.max(0, Math.round(element("reserve").valueAsNumber || 0)) * 1024;
    if (need) {
        const asked = (state.asked = rowsOf(askRules, need, state.settings.boards, reserve));
        const rows = await asked;
        if (state.asked === asked && state.need === need) {
            showBoards(need, rows, reserve);
        }
    }
}

/** Show what other runtimes do with it; a failure does not affect the other results. */
async function showOthers(model, signal) {
    try {
        const rows = await verdicts((calls) => askRules(calls, signal), state.settings, model);
        signal.throwIfAborted();
        showRuntimes(rows);
    } catch (error) {
        if (!signal.aborted) {
            step(`The rules of other runtimes did not run: ${error.message}`, "bad");
        }
    }
}

/** Show the latencies; a failure does not affect the other results. */
async function showLatencies(module, model, constants, signal) {
    try {
        const timing = await (await fetched("timing.py")).text();
        const asking = (calls) => askRules(calls, signal);
        await latencies(module, state.settings, state.targets.chosen.npu, model, constants, timing, asking, signal, showLatency);
    } catch (error) {
        signal.throwIfAborted();
        step(`The latency was not counted: ${error.message}`, "bad");
    }
}

/** Process a chosen model, and stop processing the previous one. */
async function take(name, bytes, example = null) {
    state.example = example;
    element("recording").hidden = !example?.recording;
    element("picture").hidden = !example?.picture;
    state.job?.abort(new Error("another model was chosen"));
    const job = (state.job = new AbortController());
    state.last = { name, bytes };
    element("alert").textContent = "";
    try {
        await handle(name, bytes, job.signal);
    } catch (error) {
        if (state.job === job) {
            status(`${name} does not run: ${error.message}`, "bad");
        }
    }
    if (state.job === job) {
        document.body.dataset.done = document.body.dataset.timed = name;
    }
}

async function takeFiles(list) {
    for (const file of list) {
        try {
            checkSize(file.size);
            const bytes = new Uint8Array(await file.arrayBuffer());
            if (isModel(file.name, bytes)) {
                await take(file.name, bytes);
            } else {
                store(file.name, bytes);
                restart();
                status(`${file.name} is now /rom/${file.name}.`);
            }
        } catch (error) {
            element("steps").replaceChildren();
            status(`${file.name} does not run: ${error.message}`, "bad");
            document.body.dataset.done = file.name;
        }
    }
}

/** Process an example, with its own program unless a link contains another one. */
async function takeExample(name, script = null) {
    const example = state.examples.find((each) => each.name === name);
    state.linked = script !== null;
    showLinked();
    element("script").value = script ?? example.script;
    history.replaceState(null, "", `#${link(example, script)}`);
    try {
        const response = await fetched(`examples/${example.name}.tflite`);
        await take(`${example.name}.tflite`, new Uint8Array(await response.arrayBuffer()), example);
    } catch (error) {
        status(error.message, "bad");
    }
}

function exampleCard({ name, text }) {
    const [card, title] = [document.createElement("button"), document.createElement("strong")];
    card.type = "button";
    card.className = "card";
    card.dataset.example = title.textContent = name;
    card.append(title, text);
    card.addEventListener("click", () => takeExample(name));
    return card;
}

function restart() {
    clear();
    state.feeds.forget();
    state.board.restart([state.targets.chosen.npu], state.files);
}

async function retarget() {
    if (state.last) {
        await take(state.last.name, state.last.bytes, state.example);
    } else {
        restart();
    }
}

/** Load the panel of the user's own board. */
async function ownBoard() {
    try {
        const { open } = await import("./link/panel.mjs");
        open({
            fetched,
            flashing: state.settings.flashing,
            romfs: () => build(state.files),
            model: () => state.shown,
            script: () => element("script").value,
            async emulated({ bytes }, program) {
                const rows = [];
                const board = { npus: [state.targets.chosen.npu], files: new Map([["model", bytes]]) };
                await runProgram(await wasm("ethosu.wasm"), { ...board, program: `SOURCE = "/rom/model"\n${program}` }, (row) => rows.push(row));
                return rows;
            },
        });
    } catch (error) {
        fail(error.message);
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
        terminal.write(RESET);
        element("alert").textContent = "";
        state.board = start(module, Promise.resolve(terminal));
    });
    element("file").addEventListener("change", (event) => takeFiles([...event.target.files]));
    element("target").addEventListener("change", () => {
        state.targets.fillModes();
        retarget();
    });
    element("mode").addEventListener("change", retarget);
    element("reserve").addEventListener("input", showFits);
    element("own").addEventListener("toggle", ownBoard, { once: true });
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
    // All at once, but not before: a first visit loads the page again.
    const compiling = wasm("ethosu.wasm");
    const terminalLoads = import("./board/terminal.mjs").then(({ makeTerminal }) => makeTerminal(element("terminal")));
    element("examples").append(...examples.map(exampleCard));
    state.targets = new Targets(settings.targets, FIRST_NPU);
    state.feeds = new Feeds();
    element("script").value = FIRST_SCRIPT;
    const first = follow(); // before the board starts, because the address may select its NPU
    state.board = start(compiling, terminalLoads);
    const terminal = await terminalLoads;
    let module;
    try {
        module = await compiling;
    } catch (error) {
        state.board.end();
        fail(error instanceof WebAssembly.CompileError ? `This browser cannot run the board: ${BROWSERS}.` : error.message);
        return;
    }
    globalThis.ethosuTerminal = terminal; // for scripts that control the page
    state.programs = connectPrograms({ state, fetched, restart, link });
    listen(module, terminal);
    addEventListener("hashchange", () => {
        const { example, script } = follow();
        example ? takeExample(example, script) : retarget();
    });
    if (first.example) {
        takeExample(first.example, first.script);
    }
}

export { BoardClient, Model, planned, runProgram }; // for scripts that control the page, as is ethosuTerminal

main().catch((error) => fail(`The page did not start: ${error.message}`));
