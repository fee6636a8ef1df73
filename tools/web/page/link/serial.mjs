// SPDX-License-Identifier: MIT
/** A serial port of the browser (WebSerial), with waits that end. */

const UNPLUGGED = "the board was unplugged, or its port went away: plug it in and try again";
const encoder = new TextEncoder();
export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** A binary string, one character per byte. */
function textOf(bytes) {
    return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
}

export class Line {
    /**
     * @param {AbortSignal} signal  ends each wait
     * @returns {Promise<Line>} the open port
     */
    static async open(port, baudRate, signal = new AbortController().signal) {
        try {
            await port.open({ baudRate, bufferSize: 1 << 16 });
        } catch (error) {
            throw new Error(`the port does not open; close other programs and pages that use it (${error.message})`);
        }
        return new Line(port, signal);
    }

    constructor(port, signal) {
        this.port = port;
        this.signal = signal;
        signal.addEventListener("abort", () => this.wake());
        this.text = ""; // received and not yet waited for
        this.ended = false;
        this.wake = () => {};
        this.pumping = this.#pump();
    }

    async #pump() {
        while (this.port.readable && !this.ended) {
            this.reader = this.port.readable.getReader();
            try {
                for (let part; !(part = await this.reader.read()).done; ) {
                    this.text += textOf(part.value);
                    this.wake();
                }
                this.ended = true;
            } catch {
                // Of a framing error at another speed a new reader recovers; an unplugged port has none.
            } finally {
                this.reader.releaseLock();
            }
        }
        this.ended = true;
        this.wake();
    }

    /**
     * Wait until a pattern is received, and take all up to its end.
     *
     * @param {RegExp} pattern
     * @returns {Promise<RegExpExecArray | null>} null after `ms`
     * @throws {Error} if the port goes away, or at the signal
     */
    async waitFor(pattern, ms) {
        const late = { passed: false };
        const timer = setTimeout(() => {
            late.passed = true;
            this.wake();
        }, ms);
        try {
            for (;;) {
                this.signal.throwIfAborted();
                const found = pattern.exec(this.text);
                if (found) {
                    this.text = this.text.slice(found.index + found[0].length);
                    return found;
                }
                if (this.ended) {
                    throw new Error(UNPLUGGED);
                }
                if (late.passed) {
                    return null;
                }
                await new Promise((done) => (this.wake = done));
            }
        } finally {
            clearTimeout(timer);
        }
    }

    /** The end of what was received, for a message. */
    get last() {
        const line = this.text.slice(-80).replace(/[^ -~]+/g, " ").trim();
        return line ? `it sent “${line}”` : "it sent nothing";
    }

    forget() {
        this.text = "";
    }

    /** @param {string | Uint8Array} data */
    async write(data) {
        const writer = this.port.writable?.getWriter();
        if (!writer) {
            throw new Error(UNPLUGGED);
        }
        try {
            await writer.write(typeof data === "string" ? encoder.encode(data) : data);
        } catch {
            throw new Error(UNPLUGGED);
        } finally {
            writer.releaseLock();
        }
    }

    /** Release and set RTS, which resets some boards; others ignore it. */
    async pulse(ms) {
        try {
            await this.port.setSignals({ requestToSend: false });
            await pause(ms);
            await this.port.setSignals({ requestToSend: true });
        } catch {
            // Not every port has the signal; the user presses reset.
        }
    }

    async close() {
        this.ended = true;
        await this.reader?.cancel().catch(() => {});
        await this.pumping;
        await this.port.close().catch(() => {});
    }
}
