// SPDX-License-Identifier: MIT
/** The worker that a board runs in, and blocks. */
import { Board } from "./board.mjs";
import { Feeds } from "./feeds.mjs";
import { Ring } from "./ring.mjs";

addEventListener("message", ({ data }) => {
    const ring = new Ring(data.shared);
    const feeds = new Feeds(data.feeds);
    let board;
    function obey() {
        if (ring.wanted()) {
            const told = ring.takeRestart();
            postMessage({ restarted: told.number });
            board.restart(told);
        }
    }
    const io = {
        read(bytes) {
            obey();
            return ring.take(bytes);
        },
        write(bytes) {
            const size = bytes.length;
            postMessage({ output: bytes }, [bytes.buffer]);
            ring.waitForRoom(size);
        },
        sleep: (ms) => ring.wait(ms),
        feed: (source, bytes) => feeds.take(source, bytes),
        show(text) {
            postMessage({ show: text });
            ring.waitForRoom(text.length);
        },
    };
    board = new Board(data.module, io, data);
    try {
        board.run();
    } catch (error) {
        postMessage({ failed: String(error) });
    }
});
