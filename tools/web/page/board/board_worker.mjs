// SPDX-License-Identifier: MIT
/** The worker in which a board runs; the board blocks it. */
import { Board } from "../../board/js/board.mjs";
import { Feeds } from "../media/feeds.mjs";
import { Ring } from "./ring.mjs";

addEventListener("message", ({ data }) => {
    const ring = new Ring(data.shared);
    const feeds = new Feeds(data.feeds);
    let board;
    function restartIfRequested() {
        if (ring.restartRequested()) {
            const request = ring.takeRestart();
            postMessage({ restarted: request.number });
            board.restart(request);
        }
    }
    const io = {
        read(bytes) {
            restartIfRequested();
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
