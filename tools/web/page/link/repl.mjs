// SPDX-License-Identifier: MIT
/** A board's prompt on a serial line: MicroPython's raw REPL, with flow control (raw paste). */
import { Line } from "./serial.mjs";

const BAUD = 115_200;
/** A board that has just been reset needs a moment; its boot loader prints at another speed. */
const PROMPT_TRIES = 20;
const PROMPT_MS = 500;
const REPLY_MS = 10_000;
/** The longest silence of a program that runs. */
const RUN_MS = 120_000;
const SENT_BYTES = 1024;
const encoder = new TextEncoder();

/** The text of UTF-8 that arrived as one character per byte. */
function decoded(text) {
    return new TextDecoder().decode(Uint8Array.from(text, (each) => each.charCodeAt(0)));
}

function base64(bytes) {
    return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

export class Repl {
    /** Connect to the prompt; a program that runs there is interrupted. */
    static async open(port) {
        const line = await Line.open(port, BAUD);
        try {
            for (let tries = 0; tries < PROMPT_TRIES; tries++) {
                await line.write("\r\x03\x03\r\x01");
                if (await line.waitFor(/raw REPL; CTRL-B to exit\r\n>$/, PROMPT_MS)) {
                    return new Repl(line);
                }
            }
            throw new Error(`no prompt of MicroPython; ${line.last}. Does the board have this firmware, and is it this port?`);
        } catch (error) {
            await line.close();
            throw error;
        }
    }

    constructor(line) {
        this.line = line;
    }

    async #expect(pattern, ms = REPLY_MS) {
        const found = await this.line.waitFor(pattern, ms);
        if (!found) {
            throw new Error(`the board fell silent; ${this.line.last}`);
        }
        return found;
    }

    /** Send a program as the board has room for it. */
    async #paste(program) {
        await this.line.write("\x05A\x01");
        const [, low, high] = await this.#expect(/R\x01([^])([^])/);
        const window = low.charCodeAt(0) + 256 * high.charCodeAt(0);
        const bytes = encoder.encode(program);
        let room = window;
        let ended = false; // the board does not want the rest, because of a syntax error
        for (let at = 0; at < bytes.length; ) {
            if (room === 0 || this.line.text) {
                const [word] = await this.#expect(/[\x01\x04]/);
                if (word === "\x04") {
                    ended = true;
                    break;
                }
                room += window;
                continue;
            }
            const part = bytes.subarray(at, at + room);
            await this.line.write(part);
            at += part.length;
            room -= part.length;
        }
        await this.line.write("\x04");
        if (!ended) {
            await this.#expect(/\x04/);
        }
    }

    /**
     * Run a program.
     *
     * @param {(line: string) => void} onLine  called for each line that it prints
     * @throws {Error} with the traceback of an exception
     */
    async run(program, onLine = () => {}) {
        await this.#paste(program);
        for (;;) {
            const [text, end] = await this.#expect(/^[^\n\x04]*([\n\x04])/, RUN_MS);
            const printed = text.slice(0, -1).replace(/\r$/, "");
            if (end === "\n" || printed) {
                onLine(decoded(printed));
            }
            if (end === "\x04") {
                break;
            }
        }
        const trace = (await this.#expect(/^([^\x04]*)\x04>/))[1];
        if (trace) {
            throw new Error(decoded(trace).trim().split("\n").pop());
        }
    }

    /** Store bytes in the board's memory, where the NPU can read them, as the variable `name`. */
    async send(name, bytes, progress) {
        await this.run(`import binascii, ethosu\n${name} = ethosu.buffer(${bytes.length})\n_to = memoryview(${name})\n`);
        for (let at = 0; at < bytes.length; at += SENT_BYTES) {
            const part = bytes.subarray(at, at + SENT_BYTES);
            await this.run(`_to[${at}:${at + part.length}] = binascii.a2b_base64("${base64(part)}")\n`);
            progress(at + part.length, bytes.length);
        }
    }

    async close() {
        await this.line.write("\x02").catch(() => {});
        await this.line.close();
    }
}
