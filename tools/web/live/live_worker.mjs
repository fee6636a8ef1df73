// SPDX-License-Identifier: MIT
/** Runs programs at the raw REPL of a board; the page that started the worker ends it. */
import { Board } from "../board/js/board.mjs";

const NPU = "ethos-u55-128";

addEventListener("message", ({ data: { module, romfs, blocks } }) => {
    const input = new TextEncoder().encode(`\x01${blocks.map((block) => `${block}\x04`).join("")}`);
    const decoder = new TextDecoder();
    let at = 0;
    const io = {
        read(bytes) {
            const piece = input.subarray(at, at + bytes.length);
            bytes.set(piece);
            at += piece.length;
            return piece.length;
        },
        write: (bytes) => postMessage({ output: decoder.decode(bytes, { stream: true }) }),
        /** Without shared memory nothing can wake a waiting worker, so it polls the clock. */
        sleep(ms) {
            for (const end = performance.now() + ms; performance.now() < end && at === input.length; );
        },
    };
    try {
        new Board(module, io, { npus: [NPU], romfs }).run();
    } catch (error) {
        postMessage({ failed: String(error) });
    }
});
