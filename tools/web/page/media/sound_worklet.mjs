// SPDX-License-Identifier: MIT
/** Passes the microphone's sound to the page, as 16-bit samples at the board's rate. */
import { RATE } from "./feeds.mjs";
import { Resampler } from "./resample.mjs";

/** Samples of a message: 64 ms. */
const PIECE = 1024;

class Listener extends AudioWorkletProcessor {
    constructor() {
        super();
        this.piece = new Int16Array(PIECE);
        this.filled = 0;
        this.resampler = new Resampler(sampleRate, RATE);
    }

    process([[channel]]) {
        this.resampler.take(channel ?? [], (value) => {
            this.piece[this.filled++] = Math.max(-32768, Math.min(32767, Math.round(value * 32768)));
            if (this.filled === PIECE) {
                this.port.postMessage(this.piece);
                this.filled = 0;
            }
        });
        return true;
    }
}

registerProcessor("listener", Listener);
