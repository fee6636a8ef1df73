// SPDX-License-Identifier: MIT
/**
 * Sound and pictures for a board's worker, in shared memory. Words of `control`: bytes of sound given
 * and taken, the number of the last picture given.
 */
const GIVEN = 0;
const TAKEN = 1;
const PICTURE = 2;
const SOUND_BYTES = 1 << 17; // 4 s
// As in the board's host.h.
const MICROPHONE = 0;
export const RATE = 16000; // samples per second
export const WIDTH = 320;
export const HEIGHT = 240;

export class Feeds {
    constructor(shared = Feeds.shared()) {
        this.shared = shared;
        this.control = new Int32Array(shared.control);
        this.sound = new Uint8Array(shared.sound);
        this.picture = new Uint8Array(shared.picture);
        this.seen = 0;
    }

    static shared() {
        return {
            control: new SharedArrayBuffer(16),
            sound: new SharedArrayBuffer(SOUND_BYTES),
            picture: new SharedArrayBuffer(WIDTH * HEIGHT * 3),
        };
    }

    // ---- the page's side ----

    /** Number of bytes of sound that fit. */
    room() {
        return SOUND_BYTES - ((Atomics.load(this.control, GIVEN) - Atomics.load(this.control, TAKEN)) | 0);
    }

    /** Give samples, an Int16Array; returns false if there was no room, and they were dropped. */
    giveSound(samples) {
        const bytes = new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
        if (bytes.length > this.room()) {
            return false;
        }
        const given = Atomics.load(this.control, GIVEN);
        bytes.forEach((byte, i) => (this.sound[((given + i) >>> 0) % SOUND_BYTES] = byte));
        Atomics.store(this.control, GIVEN, (given + bytes.length) | 0);
        return true;
    }

    /** Discard sound that was not taken. */
    forget() {
        Atomics.store(this.control, TAKEN, Atomics.load(this.control, GIVEN));
    }

    /** Give a picture: the pixels of a canvas of WIDTH x HEIGHT, four bytes each. */
    givePicture(rgba) {
        for (let i = 0; i < WIDTH * HEIGHT; i++) {
            this.picture.set(rgba.subarray(4 * i, 4 * i + 3), 3 * i);
        }
        Atomics.add(this.control, PICTURE, 1);
    }

    // ---- the worker's side ----

    take(source, bytes) {
        return source === MICROPHONE ? this.takeSound(bytes) : this.takePicture(bytes);
    }

    takeSound(bytes) {
        const taken = Atomics.load(this.control, TAKEN);
        const count = Math.min(bytes.length, (Atomics.load(this.control, GIVEN) - taken) | 0);
        for (let i = 0; i < count; i++) {
            bytes[i] = this.sound[((taken + i) >>> 0) % SOUND_BYTES];
        }
        Atomics.store(this.control, TAKEN, (taken + count) | 0);
        return count;
    }

    takePicture(bytes) {
        const number = Atomics.load(this.control, PICTURE);
        if (number === this.seen || bytes.length < this.picture.length) {
            return 0;
        }
        this.seen = number;
        bytes.set(this.picture);
        return this.picture.length;
    }
}
