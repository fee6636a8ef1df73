// SPDX-License-Identifier: MIT
/**
 * Memory shared by a page and its board's worker, which blocks in WebAssembly and cannot receive
 * messages. Words of `control`: bytes of input given and taken, bytes of output shown, the sizes of
 * the ROMFS image in `box` and of the JSON in front of it, the numbers of restarts that the page has
 * begun to write there and has requested.
 */
const GIVEN = 0;
const TAKEN = 1;
const SHOWN = 2;
const ROM_SIZE = 3;
const WORDS_SIZE = 4;
const BEGUN = 5;
const RESTARTS = 6;
const CONTROL_BYTES = 32;
const INPUT_BYTES = 1 << 16;
const WORDS_BYTES = 1 << 10;
// As of tools/web/board/memory.S.
export const ROM_BYTES = 0x2000100;
/** The board waits while the page has this much output to show. */
const UNSHOWN_BYTES = 1 << 15;

export class Ring {
    constructor(shared = Ring.shared()) {
        this.shared = shared;
        this.control = new Int32Array(shared.control);
        this.input = new Uint8Array(shared.input);
        this.box = new Uint8Array(shared.box);
        this.sent = 0;
        this.restarts = 0; // that the worker has taken
    }

    static shared() {
        return {
            control: new SharedArrayBuffer(CONTROL_BYTES),
            input: new SharedArrayBuffer(INPUT_BYTES),
            box: new SharedArrayBuffer(WORDS_BYTES + ROM_BYTES),
        };
    }

    // ---- the page's side ----

    /** Give input; returns false if there is no room for it yet. */
    give(bytes) {
        const given = Atomics.load(this.control, GIVEN);
        if (bytes.length > INPUT_BYTES - ((given - Atomics.load(this.control, TAKEN)) | 0)) {
            return false;
        }
        bytes.forEach((byte, i) => (this.input[((given + i) >>> 0) % INPUT_BYTES] = byte));
        Atomics.store(this.control, GIVEN, (given + bytes.length) | 0);
        Atomics.notify(this.control, GIVEN);
        return true;
    }

    shown(size) {
        Atomics.add(this.control, SHOWN, size);
        Atomics.notify(this.control, SHOWN);
    }

    /** Request a restart with these NPUs and this ROM; returns its number. */
    restart(npus, romfs) {
        Atomics.add(this.control, BEGUN, 1);
        const words = new TextEncoder().encode(JSON.stringify(npus));
        this.box.set(words, 0);
        this.box.set(romfs, WORDS_BYTES);
        Atomics.store(this.control, WORDS_SIZE, words.length);
        Atomics.store(this.control, ROM_SIZE, romfs.length);
        Atomics.store(this.control, TAKEN, Atomics.load(this.control, GIVEN)); // discard input typed before
        return Atomics.add(this.control, RESTARTS, 1) + 1;
    }

    // ---- the worker's side ----

    /** Input for the board that runs; returns its size. */
    take(bytes) {
        const taken = Atomics.load(this.control, TAKEN);
        const count = Math.min(bytes.length, (Atomics.load(this.control, GIVEN) - taken) | 0);
        if (this.restartRequested()) {
            return 0; // some of it may be for the restarted board
        }
        for (let i = 0; i < count; i++) {
            bytes[i] = this.input[((taken + i) >>> 0) % INPUT_BYTES];
        }
        // It differs if a restart has just discarded this input.
        const { control } = this;
        return Atomics.compareExchange(control, TAKEN, taken, (taken + count) | 0) === taken ? count : 0;
    }

    wait(ms) {
        Atomics.wait(this.control, GIVEN, Atomics.load(this.control, TAKEN), ms);
    }

    /** Count output, and wait while the page has too much of it to show. */
    waitForRoom(size) {
        this.sent = (this.sent + size) | 0;
        for (;;) {
            const shown = Atomics.load(this.control, SHOWN);
            if (((this.sent - shown) | 0) < UNSHOWN_BYTES || this.restartRequested()) {
                return;
            }
            Atomics.wait(this.control, SHOWN, shown, 100);
        }
    }

    restartRequested() {
        return Atomics.load(this.control, RESTARTS) !== this.restarts;
    }

    /** The arguments of the last restart(), and its number. */
    takeRestart() {
        let words, romfs;
        do {
            this.restarts = Atomics.load(this.control, RESTARTS);
            words = this.box.slice(0, Atomics.load(this.control, WORDS_SIZE));
            romfs = this.box.slice(WORDS_BYTES, WORDS_BYTES + Atomics.load(this.control, ROM_SIZE));
        } while (Atomics.load(this.control, BEGUN) !== this.restarts); // the page wrote meanwhile
        return { number: this.restarts, npus: JSON.parse(new TextDecoder().decode(words)), romfs };
    }
}
