// SPDX-License-Identifier: MIT
/** A board in a worker, as the page sees it. */
import { build } from "./romfs.mjs";
import { Feeds } from "./feeds.mjs";
import { Ring } from "./ring.mjs";

const encoder = new TextEncoder();

export class BoardClient {
    /**
     * @param {WebAssembly.Module} module  ethosu.wasm
     * @param {{npus: string[], files: Map<string, Uint8Array>, memories: object[], feeds: Feeds}} options
     *   files in /rom; what the NPUs are timed with; sound and pictures
     * @param {{output(bytes), restarted(), show(value), failed(text)}} listener  output() calls
     *   shown() when it has done its part; show() gets what browser.show() got
     */
    constructor(module, { npus, files, memories, feeds = new Feeds() }, listener) {
        this.ring = new Ring();
        this.worker = new Worker("board_worker.mjs", { type: "module" });
        this.asked = this.restarted = 0; // numbers of restarts
        this.worker.addEventListener("message", ({ data }) => {
            if (data.output) {
                if (this.restarted === this.asked) {
                    listener.output(data.output);
                } else {
                    this.ring.shown(data.output.length); // of the program before
                }
            } else if (data.show !== undefined) {
                this.ring.shown(data.show.length);
                if (this.restarted === this.asked) {
                    listener.show?.(data.show);
                }
            } else if (data.restarted) {
                this.restarted = data.restarted;
                listener.restarted?.();
            } else {
                listener.failed(data.failed);
            }
        });
        this.worker.addEventListener("error", (event) => listener.failed(event.message));
        const { shared } = this.ring;
        this.worker.postMessage({ shared, feeds: feeds.shared, module, npus, romfs: build(files), memories });
    }

    /** Type text; what has no room now comes later. */
    async type(text) {
        const bytes = encoder.encode(text);
        for (let at = 0; at < bytes.length; ) {
            const piece = bytes.subarray(at, at + 4096);
            if (this.ring.give(piece)) {
                at += piece.length;
            } else {
                await new Promise((done) => setTimeout(done, 5));
            }
        }
    }

    shown(size) {
        this.ring.shown(size);
    }

    /** Start it again with these NPUs and these files in /rom; files in / stay. */
    restart(npus, files) {
        this.asked = this.ring.restart(npus, build(files));
    }

    end() {
        this.worker.terminate();
    }
}

/**
 * Run a program on a board of its own, whose output is lines of JSON.
 *
 * @param {(row: object) => void} found  called for each line
 */
export function runProgram(module, { npus, files, memories, program, signal }, found) {
    return new Promise((done, failed) => {
        signal?.throwIfAborted();
        const decoder = new TextDecoder();
        let text = "";
        let inside = false;
        /** The raw prompt answers OK, the output, 4, a traceback, 4. */
        function feed(piece) {
            text += piece;
            if (!inside && text.includes(">OK")) {
                inside = true;
                text = text.slice(text.indexOf(">OK") + 3);
            }
            for (let end; inside && (end = text.indexOf("\n")) >= 0 && !text.startsWith("\x04"); ) {
                const line = text.slice(0, end).trim();
                text = text.slice(end + 1);
                if (line) {
                    found(JSON.parse(line));
                }
            }
            if (inside && text.startsWith("\x04") && text.indexOf("\x04", 1) > 0) {
                client.end();
                const trace = text.split("\x04")[1].trim();
                return trace ? failed(new Error(trace.split("\n").pop())) : done();
            }
        }
        const client = new BoardClient(module, { npus, files, memories }, {
            output(bytes) {
                client.shown(bytes.length);
                try {
                    feed(decoder.decode(bytes, { stream: true }));
                } catch (error) {
                    client.end();
                    failed(error);
                }
            },
            failed: (why) => failed(new Error(why)),
        });
        signal?.addEventListener("abort", () => {
            client.end();
            failed(signal.reason);
        });
        client.type(`\x01${program}\x04`);
    });
}
