// SPDX-License-Identifier: MIT
/** The page's side of a board that runs in a worker. */
import { build } from "../model/romfs.mjs";
import { Feeds } from "../media/feeds.mjs";
import { Ring } from "./ring.mjs";

const encoder = new TextEncoder();

export class BoardClient {
    /**
     * @param {WebAssembly.Module | Promise<WebAssembly.Module>} module  ethosu.wasm; the worker starts
     *   while it compiles; if that fails, the caller calls end()
     * @param {{npus: string[], files: Map<string, Uint8Array>, memories: object[], feeds: Feeds}} options
     *   files in /rom; memories for the NPUs' timing; sound and pictures
     * @param {{output(bytes), restarted(), show(value), failed(text)}} listener  output() must call
     *   shown() once the bytes are displayed; show() receives the argument of browser.show()
     */
    constructor(module, { npus, files, memories, feeds = new Feeds() }, listener) {
        this.ring = new Ring();
        this.worker = new Worker(new URL("board_worker.js", import.meta.url), { type: "module" });
        this.requested = this.restarted = 0; // numbers of restarts
        this.worker.addEventListener("message", ({ data }) => {
            if (data.output) {
                if (this.restarted === this.requested) {
                    listener.output(data.output);
                } else {
                    this.ring.shown(data.output.length); // output from before the restart
                }
            } else if (data.show !== undefined) {
                this.ring.shown(data.show.length);
                if (this.restarted === this.requested) {
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
        const board = { shared: this.ring.shared, feeds: feeds.shared, npus, romfs: build(files), memories };
        const begin = (compiled) => this.worker.postMessage({ ...board, module: compiled });
        Promise.resolve(module).then(begin, () => {}).catch((error) => listener.failed(error.message));
    }

    /** Type text; waits while there is no room for it. */
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

    /** Restart it with these NPUs and these files in /rom; files in / are kept. */
    restart(npus, files) {
        this.requested = this.ring.restart(npus, build(files));
    }

    end() {
        this.worker.terminate();
    }
}

/**
 * Run a program, which prints lines of JSON, on a separate board.
 *
 * @param {(row: object) => void} onRow  called for each line
 */
export function runProgram(module, { npus, files, memories, program, signal }, onRow) {
    return new Promise((done, failed) => {
        signal?.throwIfAborted();
        const decoder = new TextDecoder();
        let text = "";
        let inside = false;
        /** The raw REPL sends OK, the output, byte 4, a traceback, byte 4. */
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
                    onRow(JSON.parse(line));
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
