// SPDX-License-Identifier: MIT
/**
 * The board in node: its console is a file descriptor that does not block, such as a pty's.
 *
 *   node node.mjs ethosu.wasm FD NPU[,NPU] [ROMFS]
 */
import fs from "node:fs";
import { Board } from "./board.mjs";

/** How long (ms) to wait between two looks for input. */
const LOOK_MS = 1;

const [file, descriptor, npus, romfs] = process.argv.slice(2);
const fd = Number(descriptor);
const bell = new Int32Array(new SharedArrayBuffer(4));
let looked = 0;

/** Is this the answer of a descriptor that has nothing for us now? EIO: nobody has the pty open. */
function isIdle(error) {
    return error.code === "EAGAIN" || error.code === "EIO";
}

function wait(ms) {
    Atomics.wait(bell, 0, 0, ms);
}

const io = {
    read(bytes) {
        const now = performance.now();
        if (now - looked < LOOK_MS) {
            return 0; // a look is a system call
        }
        looked = now;
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
                wait(LOOK_MS);
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
