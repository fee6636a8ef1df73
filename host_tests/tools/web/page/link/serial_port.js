// SPDX-License-Identifier: MIT
/**
 * A serial port as WebSerial specifies it: its streams end with an error when it is unplugged, and
 * begin anew after a framing error. `board` gets what happens at the other end.
 */
class FakePort {
    constructor(board) {
        this.board = board;
        this.plugged = true;
        this.baud = null;
        this.readable = this.writable = null;
    }

    async open({ baudRate }) {
        if (!this.plugged) {
            throw new DOMException("No such device.", "NetworkError");
        }
        if (this.baud) {
            throw new DOMException("The port is already open.", "InvalidStateError");
        }
        this.baud = baudRate;
        this.#begin();
        this.writable = new WritableStream({ write: (bytes) => this.#sent(bytes) });
        this.board.opened(this);
    }

    #begin() {
        this.readable = new ReadableStream({ start: (controller) => (this.controller = controller), cancel: () => (this.controller = null) });
    }

    #sent(bytes) {
        if (!this.plugged) {
            throw new DOMException("The device has been lost.", "NetworkError");
        }
        bytes.forEach((byte) => this.board.received(byte, this.baud));
    }

    /** Bytes from the board; at another speed they are a framing error. */
    give(bytes, baud) {
        if (this.baud === baud) {
            this.controller?.enqueue(bytes);
        } else if (this.baud && this.controller) {
            this.controller.error(new DOMException("", "FramingError"));
            this.#begin();
        }
    }

    async setSignals({ requestToSend }) {
        this.board.signal?.(requestToSend);
    }

    async close() {
        if (this.readable?.locked || this.writable?.locked) {
            throw new TypeError("The port is in use.");
        }
        this.baud = this.controller = this.readable = this.writable = null;
    }

    unplug() {
        this.plugged = false;
        this.controller?.error(new DOMException("The device has been lost.", "NetworkError"));
        this.readable = this.writable = null;
    }
}

/**
 * A board with the firmware's prompt, which is that of a board in the page. In raw paste mode its UART
 * loses what is sent beyond the room that it has given, as MicroPython's reference of the raw REPL says.
 */
class PromptBoard {
    /** @param {string} first  Python that runs at its start */
    constructor(npu, first = "") {
        Object.assign(this, { npu, first, decoder: new TextDecoder(), room: Infinity, head: null });
    }

    opened(port) {
        this.port = port;
    }

    async start() {
        const main = document.querySelector("script[type=module]").src;
        const { BoardClient } = await import(main);
        this.module ??= await WebAssembly.compileStreaming(fetch(new URL("ethosu.wasm", main)));
        this.client?.end();
        const client = (this.client = new BoardClient(this.module, { npus: [this.npu], files: new Map() }, {
            output: (bytes) => {
                client.shown(bytes.length);
                bytes.forEach((byte) => this.#gave(byte));
                this.port?.give(bytes, 115200);
            },
            failed: (why) => console.error(why),
        }));
        if (this.first) {
            await client.type(`\x01${this.first}\x04\x02`);
        }
    }

    /** Follow how much room the board gives: "R", 1, the window in two bytes, then 1 for each window. */
    #gave(byte) {
        if (this.head?.length < 4) {
            this.head.push(byte);
            if (this.head.length === 4) {
                this.window = this.room = this.head[2] + 256 * this.head[3];
            }
        } else if (this.head && byte === 1) {
            this.room += this.window;
        } else if (this.head && byte === 4) {
            Object.assign(this, { head: null, room: Infinity });
        }
    }

    received(byte, baud) {
        this.typed = `${this.typed ?? ""}${String.fromCharCode(byte)}`.slice(-3);
        if (this.typed === "\x05A\x01") {
            this.head = [];
        } else if (byte !== 4 && this.room-- <= 0) {
            return;
        }
        if (baud === 115200) {
            this.client?.type(this.decoder.decode(Uint8Array.of(byte), { stream: true }));
        }
    }
}

/** What navigator.serial gives; the user chooses this port, or none. */
globalThis.useSerial = (port) =>
    Object.defineProperty(navigator, "serial", {
        configurable: true,
        value: { requestPort: async () => port ?? Promise.reject(new DOMException("No port selected by the user.", "NotFoundError")) },
    });
Object.assign(globalThis, { FakePort, PromptBoard });
