// SPDX-License-Identifier: MIT
/** The panel of the user's own board: flashes it, and runs there what the emulated board runs. */
import { boardOf, filesIn } from "./archive.mjs";
import { check as checkDfu, flash as flashDfu } from "./dfu.mjs";
import { check as checkHimax, flash as flashHimax } from "./himax.mjs";
import { MARKUP } from "./markup.mjs";
import { Repl } from "./repl.mjs";

const SENT = "_page_model";
const INSTEAD = "this browser cannot; use Chrome or Edge on a computer, or `ethosu flash`";
const element = (id) => document.getElementById(`own-${id}`);
const count = (number) => Math.round(number).toLocaleString("en");

function say(text, kind = "") {
    element("status").textContent = text;
    element("status").className = kind;
}

function progress(done, all) {
    Object.assign(element("progress"), { hidden: false, value: done, max: all });
}

/** The bytes of all outputs. */
function outputOf(rows) {
    const text = rows.map(({ hex = "" }) => hex).join("");
    return Uint8Array.from({ length: text.length / 2 }, (_, at) => parseInt(text.slice(2 * at, 2 * at + 2), 16));
}

/** How many bytes differ; all of them if there are not equally many. */
function differing(found, expected) {
    return found.length === expected.length
        ? found.reduce((sum, byte, at) => sum + (byte !== expected[at]), 0)
        : Math.max(found.length, expected.length);
}

class Panel {
    /**
     * @param {object} page  what the page gives: `flashing`, rows of settings.json; `romfs()`, the
     *   image of the files of /rom; `model()`, name and bytes of the model, or null; `emulated(source, program)`,
     *   rows of a program; `script()`; `fetched(name)`
     */
    constructor(page) {
        this.page = page;
        this.repl = this.port = null;
        this.chosen = false; // a USB device, in this visit
        this.held = null; // what the board's memory has of the page
        document.getElementById("own").insertAdjacentHTML("beforeend", MARKUP);
        element("board").append(...page.flashing.map(({ title, name }, at) => new Option(name.includes("-") ? `${title}, ${name.split("-").pop()}` : title, at)));
        element("board").addEventListener("change", () => this.#choose());
        for (const name of ["flash", "connect", "compare", "run"]) {
            element(name).addEventListener("click", () => this.#act(() => this[name]()));
        }
        element("cancel").addEventListener("click", () => this.#cancel());
        this.#choose();
        this.#enable(true);
    }

    get row() {
        return this.page.flashing[Number(element("board").value)];
    }

    #choose() {
        element("rom-row").hidden = this.row.way !== "xmodem";
        element("need").textContent = this.row.way === "xmodem"
            ? "It needs output.img, which Himax's tool makes of firmware.elf; a released archive has the files of /rom."
            : "It needs firmware.bin, or a released archive.";
    }

    #enable(idle) {
        for (const name of ["flash", "connect"]) {
            element(name).disabled = !idle;
        }
        for (const name of ["compare", "run"]) {
            element(name).disabled = !idle || !this.repl;
        }
        element("connect").textContent = this.repl ? "Disconnect" : "Connect";
    }

    /** Do one thing at a time; a failure leaves a panel that works. */
    async #act(what) {
        this.#enable(false);
        try {
            await what();
        } catch (error) {
            const none = error.name === "NotFoundError";
            const text = this.cancelled === error ? error.message : `It failed: ${error.message}.`;
            say(none ? "No board was chosen." : text, "bad");
            if (!none) {
                await this.#disconnect();
            }
        }
        element("progress").hidden = element("cancel").hidden = true;
        this.#enable(true);
    }

    /** End what is written; a boot loader is none of it. */
    #cancel() {
        if (this.cancelling.signal.aborted) {
            return; // a second press
        }
        const begun = !element("progress").hidden;
        this.cancelled = new Error(begun
            ? "Cancelled: the firmware on the board may be incomplete. Its boot loader is as it was: press “Flash” to write all of it."
            : "Cancelled: nothing was written.");
        this.cancelling.abort(this.cancelled);
    }

    /** The chosen files: the image, and a ROM file system. */
    async #image() {
        const { title, name: board, way } = this.row;
        const files = new Map();
        for (const file of element("image").files) {
            const found = await filesIn(file.name, new Uint8Array(await file.arrayBuffer()));
            const other = await boardOf(file.name, found);
            if (other !== null && other !== board) {
                throw new Error(`${file.name} is for ${other}, not for ${board}`);
            }
            found.forEach((bytes, name) => files.set(name, bytes));
        }
        const rom = files.get("rom.img");
        const images = [...files].filter(([name]) => name !== "rom.img" && name.endsWith(way === "xmodem" ? ".img" : ".bin"));
        if (images.length !== 1) {
            throw new Error(`choose one image for ${title}; found ${images.map(([name]) => name).join(", ") || "none"}. ${element("need").textContent.slice(0, -1)}`);
        }
        return { name: images[0][0], image: images[0][1], rom };
    }

    async #serial() {
        if (!navigator.serial) {
            throw new Error(INSTEAD);
        }
        return (this.port = await navigator.serial.requestPort());
    }

    async flash() {
        const { row } = this;
        const { name, image, rom } = await this.#image();
        try {
            (row.way === "xmodem" ? checkHimax : checkDfu)(image, row);
        } catch (error) {
            throw new Error(`${name} was not sent: ${error.message}`);
        }
        await this.#disconnect();
        this.cancelling = new AbortController();
        const { signal } = this.cancelling;
        if (row.way === "xmodem") {
            const port = await this.#serial();
            element("cancel").hidden = false;
            const files = element("rom").checked ? this.page.romfs() : rom ?? null;
            const again = await flashHimax(port, row, image, files, say, progress, signal);
            element("cancel").hidden = true;
            const bad = again ? ` (${count(again)} blocks twice)` : "";
            say(`Flashed ${count(image.length)} bytes${bad}. The board starts …`);
            await this.#attach(port);
        } else {
            if (!navigator.usb) {
                throw new Error(INSTEAD);
            }
            element("cancel").hidden = false;
            await flashDfu(navigator.usb, row, image, this.chosen, say, progress, signal);
            this.chosen = true;
            say(`Flashed ${count(image.length)} bytes. Its prompt is at the header's UART: connect an adapter there.`, "good");
        }
    }

    async #attach(port) {
        this.held = null;
        this.repl = await Repl.open(port);
        await this.repl.run("import sys, ethosu; print(sys.implementation._machine, *ethosu.npus())", (line) =>
            say(`Connected: ${line}`, "good"));
    }

    async #disconnect() {
        const { repl } = this;
        this.repl = null;
        await repl?.close();
    }

    async connect() {
        if (this.repl) {
            await this.#disconnect();
            say("Disconnected.");
        } else {
            await this.#attach(await this.#serial());
        }
    }

    /** Run the program of the page on the board, which prints beside the emulated one. */
    async run() {
        element("output").textContent = "";
        element("output").hidden = false;
        say("The program runs …");
        await this.repl.run(this.page.script(), (line) => element("output").append(`${line}\n`));
        say("The program ended.", "good");
    }

    /** Run the model on both boards, and compare their outputs. */
    async compare() {
        const model = this.page.model();
        if (!model) {
            say("Choose a model first.", "bad");
            return;
        }
        const program = await (await this.page.fetched("both.py")).text();
        say("The emulated board computes …");
        const emulated = await this.page.emulated(model, program);
        if (this.held !== model.bytes) {
            say(`${model.name} is sent to the board …`);
            await this.repl.send(SENT, model.bytes, progress);
            this.held = model.bytes;
        }
        say("The board computes …");
        const real = [];
        await this.repl.run(`SOURCE = ${SENT}\n${program}`, (line) => real.push(JSON.parse(line)));
        this.#show(emulated, real);
    }

    #show(emulated, real) {
        const [expected, found] = [outputOf(emulated), outputOf(real)];
        const wrong = differing(found, expected);
        const rows = [["the emulated one", emulated, expected], ["yours", real, found]].map(([title, [{ npu, us }], bytes]) => {
            const row = document.createElement("tr");
            const ms = title === "yours" ? (us / 1000).toPrecision(3) : "";
            const start = Array.from(bytes.subarray(0, 8), (byte) => byte.toString(16).padStart(2, "0")).join(" ");
            [title, npu, ms, `${start}${bytes.length > 8 ? " …" : ""}`].forEach((text) => (row.insertCell().textContent = text));
            return row;
        });
        element("results").tBodies[0].replaceChildren(...rows);
        element("results").hidden = false;
        if (wrong) {
            say(`${count(wrong)} of ${count(expected.length)} bytes of the output differ from the emulated board's.`, "bad");
        } else {
            say(`Both boards computed the same ${count(expected.length)} bytes.`, "good");
        }
    }
}

export function open(page) {
    return new Panel(page);
}
