// SPDX-License-Identifier: MIT
/**
 * Buttons "Run" for the Python blocks of a page of the book. A run starts a new board, and runs the
 * blocks of the page up to this one, as the tests do.
 */
const [wasm, rom] = ["ethosu.wasm", "rom.img"].map((name) => new URL(name, import.meta.url));
const WORDS = { run: "Run", stop: "Stop" };

let files = null;

async function bytesOf(url) {
    const response = await fetch(url);
    if (!response.ok) {
        throw new Error(`${url.pathname} could not be loaded (${response.status})`);
    }
    return response.arrayBuffer();
}

/** The board and its ROM, loaded on first use. */
function load() {
    files ??= Promise.all([bytesOf(wasm).then((bytes) => WebAssembly.compile(bytes)), bytesOf(rom)]);
    files.catch(() => (files = null));
    return files;
}

/**
 * The raw REPL's output so far for the last of `count` programs; null before it began.
 *
 * @returns {{output: string, error: string, failed: boolean, done: boolean} | null} `failed`: an
 *   earlier block failed, and this is its output
 */
export function answer(text, count) {
    const pieces = text.split(">OK").slice(1).map((piece) => piece.split("\x04"));
    const failed = pieces.slice(0, count).find((piece, i) => i < count - 1 && piece[1]);
    const piece = failed ?? pieces[count - 1];
    if (!piece) {
        return null;
    }
    return { output: piece[0], error: piece[1] ?? "", failed: !!failed, done: !!failed || piece.length > 2 };
}

function run(blocks, show) {
    let worker;
    let ended = false;
    const done = (async () => {
        const [module, image] = await load();
        if (ended) {
            return;
        }
        worker = new Worker(new URL("live_worker.js", import.meta.url), { type: "module" });
        await new Promise((finished, failed) => {
            let text = "";
            worker.addEventListener("error", (event) => failed(new Error(event.message)));
            worker.addEventListener("message", ({ data }) => {
                if (data.failed) {
                    return failed(new Error(data.failed));
                }
                text += data.output;
                const result = answer(text, blocks.length);
                if (result) {
                    show(result);
                }
                return result?.done ? finished() : null;
            });
            worker.postMessage({ module, romfs: new Uint8Array(image), blocks });
        });
    })();
    const end = () => {
        ended = true;
        worker?.terminate();
    };
    return { done: done.finally(end), end };
}

function addButton(code, blocks) {
    const button = document.createElement("button");
    const output = document.createElement("pre");
    button.type = "button";
    button.className = "run";
    button.textContent = WORDS.run;
    output.className = "output";
    output.setAttribute("role", "status");
    output.hidden = true;
    code.parentElement.after(button, output);
    let running = null;
    const say = (text) => {
        output.hidden = false;
        output.textContent = text;
    };
    button.addEventListener("click", async () => {
        if (running) {
            running.end();
            running = null;
            button.textContent = WORDS.run;
            return;
        }
        button.textContent = WORDS.stop;
        delete output.dataset.done;
        say("The board starts …");
        const current = (running = run(blocks, ({ output: printed, error, failed }) => {
            const front = failed ? "An earlier block of this page failed:\n" : "";
            say(`${front}${printed}${error}` || "It ran, and printed nothing.");
        }));
        try {
            await current.done;
        } catch (error) {
            say(`It does not run here: ${error.message}`);
        }
        if (running === current) {
            running = null;
            button.textContent = WORDS.run;
            output.dataset.done = "yes";
        }
    });
}

/** Add buttons to all blocks before the first one that opens a file missing in this ROM. */
async function addButtons() {
    const codes = [...document.querySelectorAll("pre > code.language-python")];
    const names = codes.length ? await (await fetch(new URL("files.json", import.meta.url))).json() : [];
    const opens = (code) => [...code.textContent.matchAll(/"\/rom\/([^"]+)"/g)].map(([, name]) => name);
    const end = codes.findIndex((code) => opens(code).some((name) => !names.includes(name)));
    const live = end < 0 ? codes : codes.slice(0, end);
    live.forEach((code, i) => addButton(code, live.slice(0, i + 1).map((each) => each.textContent)));
    document.body.dataset.live = live.length;
}

addButtons();
