// SPDX-License-Identifier: MIT
/**
 * The board in node: its console is a non-blocking file descriptor, such as a pty's.
 *
 *   node node.mjs ethosu.wasm FD NPU[,NPU] [ROMFS]
 */
import fs from "node:fs";
import { Board } from "./board.mjs";

/** Polling interval for input in ms. */
const POLL_MS = 1;

const [file, descriptor, npus, romfs] = process.argv.slice(2);
const fd = Number(descriptor);
const bell = new Int32Array(new SharedArrayBuffer(4));
let polledAt = 0;

/** Whether a descriptor just has no data yet; EIO means that no program has the pty open. */
function isIdle(error) {
    return error.code === "EAGAIN" || error.code === "EIO";
}

function wait(ms) {
    Atomics.wait(bell, 0, 0, ms);
}

const io = {
    read(bytes) {
        const now = performance.now();
        if (now - polledAt < POLL_MS) {
            return 0; // polling is a system call
        }
        polledAt = now;
        try {
            return fs.readSync(fd, bytes, 0, bytes.length);
        } catch (error) {
            if (isIdle(error)) {
                return 0;
            }
            throw error;
        }
    },
    write(bytes) {
        for (let at = 0; at < bytes.length; ) {
            try {
                at += fs.writeSync(fd, bytes, at);
            } catch (error) {
                if (!isIdle(error)) {
                    throw error;
                }
                wait(POLL_MS);
            }
        }
    },
    sleep: wait,
};

const module = new WebAssembly.Module(fs.readFileSync(file));
new Board(module, io, {
    npus: npus.split(","),
    romfs: romfs ? fs.readFileSync(romfs) : undefined,
}).run();
