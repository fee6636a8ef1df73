// SPDX-License-Identifier: MIT
/**
 * Flashing over WebUSB by a boot loader with USB's Device Firmware Upgrade, version 1.1; sections are
 * those of USB-IF's "Device Class Specification for Device Firmware Upgrade".
 */
import { pause } from "./serial.mjs";

const [DETACH, DNLOAD, GETSTATUS, CLRSTATUS, ABORT] = [0, 1, 3, 4, 6];
const STATES = ["appIDLE", "appDETACH", "dfuIDLE", "dfuDNLOAD-SYNC", "dfuDNBUSY", "dfuDNLOAD-IDLE", "dfuMANIFEST-SYNC", "dfuMANIFEST", "dfuMANIFEST-WAIT-RESET", "dfuUPLOAD-IDLE", "dfuERROR"];
const STATUSES = ["no error", "the file is not for this device", "the file is damaged", "it cannot write", "it cannot erase", "the memory is not empty", "it cannot program", "the memory differs from what was written", "the address is beyond the partition", "the data ended too early", "the firmware is damaged", "a fault of its own", "a USB reset", "a power-on reset", "an unknown error", "an unexpected request"];
const [DESCRIPTOR, CONFIGURATION, FUNCTIONAL] = [6, 0x0200, 0x21];
const REPLY_MS = 10_000;
const PLUG_MS = 60_000;
/** The most polls of one block, and the most time that it may ask for, so that a device that stays busy is an error. */
const POLLS = 300;
const BUSY_MS = 60_000;
/** A device says when it takes the next request, in up to 24 bits; "Cancel" is looked for this often. */
const PIECE_MS = 1000;
/** States in which a device takes no request before its time has passed (A.2.5, A.2.8). */
const BUSY = ["dfuDNBUSY", "dfuMANIFEST"];
/** The most states until a device is idle: it writes, has written, is idle. */
const SETTLING = 4;
/** bitManifestationTolerant (4.1.3): the device answers after it has taken the whole image. */
const TOLERANT = 4;
const ELF = 0x7f454c46;

/** @throws {Error} if these bytes are no image for this core */
export function check(image, { largest, address }) {
    const view = new DataView(image.buffer, image.byteOffset, image.byteLength);
    if (image.length >= 4 && view.getUint32(0) === ELF) {
        throw new Error("it is an ELF file: the boot loader needs firmware.bin");
    }
    if (image.length > largest) {
        throw new Error(`it has ${image.length} bytes, but the partition holds ${largest}`);
    }
    const entry = image.length < 8 ? 0 : view.getUint32(4, true);
    if (!(entry & 1) || entry < address || entry >= address + image.length) {
        throw new Error(`it is no firmware for this core: it would start at 0x${entry.toString(16)}, not in its ${image.length} bytes from 0x${address.toString(16)} on`);
    }
}

class Loader {
    constructor(device, partition, signal) {
        Object.assign(this, { device, partition, signal });
    }

    /** Wait until the device takes a request, but not longer than `left`; returns what is left of it. */
    async #rest(wait, left) {
        const end = Math.max(0, left - wait);
        for (; left - end > PIECE_MS; left -= PIECE_MS) {
            await pause(PIECE_MS);
            this.signal.throwIfAborted();
        }
        await pause(left - end);
        return end;
    }

    async open() {
        await this.device.open();
        if (!this.device.configuration) {
            await this.device.selectConfiguration(1);
        }
        const wanted = this.device.configuration.interfaces.find((each) =>
            each.alternates.some((one) => one.interfaceClass === 0xfe && one.interfaceSubclass === 1));
        if (!wanted?.alternates.some((one) => one.alternateSetting === this.partition)) {
            throw new Error(`this device has no partition ${this.partition}: it is not the boot loader of this board`);
        }
        this.index = wanted.interfaceNumber;
        await this.device.claimInterface(this.index);
        await this.device.selectAlternateInterface(this.index, this.partition);
    }

    /** A request that ends, with the reason if it is refused. */
    async #ask(transfer) {
        let timer;
        const late = new Promise((_, failed) => {
            timer = setTimeout(() => failed(new Error("the boot loader does not answer: unplug the board and try again")), REPLY_MS);
        });
        try {
            return await Promise.race([transfer, late]);
        } finally {
            clearTimeout(timer);
        }
    }

    #setup(request, value) {
        return { requestType: "class", recipient: "interface", request, value, index: this.index };
    }

    async out(request, value = 0, data = new Uint8Array()) {
        const { status } = await this.#ask(this.device.controlTransferOut(this.#setup(request, value), data));
        return status === "ok";
    }

    /** What the device says of itself (6.1.2). A refusal is an error, of which it tells next (A.1). */
    async status(again = true) {
        const { status, data } = await this.#ask(this.device.controlTransferIn(this.#setup(GETSTATUS, 0), 6));
        if (status === "stall" && again) {
            return this.status(false);
        }
        if (data?.byteLength !== 6) {
            throw new Error("the boot loader does not tell its state");
        }
        const wait = data.getUint8(1) | (data.getUint8(2) << 8) | (data.getUint8(3) << 16);
        return { error: data.getUint8(0), wait, state: STATES[data.getUint8(4)] };
    }

    /** The functional descriptor (4.1.3): the bytes of a block, and whether it answers at the end. */
    async describe() {
        const setup = { requestType: "standard", recipient: "device", request: DESCRIPTOR, value: CONFIGURATION, index: 0 };
        const { data } = await this.#ask(this.device.controlTransferIn(setup, 1024));
        for (let at = 0; data && at + 7 <= data.byteLength && data.getUint8(at); at += data.getUint8(at)) {
            if (data.getUint8(at + 1) === FUNCTIONAL) {
                this.tolerant = Boolean(data.getUint8(at + 2) & TOLERANT);
                this.size = data.getUint16(at + 5, true);
                return;
            }
        }
        throw new Error("the boot loader does not tell the size of its blocks");
    }

    /** Leave what an interrupted transfer left. */
    async idle() {
        for (let tries = 0, left = BUSY_MS; tries < SETTLING && left > 0; tries++) {
            this.signal.throwIfAborted();
            const { wait, state } = await this.status();
            if (state === "dfuIDLE") {
                return;
            }
            if (BUSY.includes(state)) {
                left = await this.#rest(wait, left);
            } else {
                await this.out(state === "dfuERROR" ? CLRSTATUS : ABORT);
            }
        }
        throw new Error("the boot loader does not become idle: unplug the board and try again");
    }

    /** Send a block, and wait until the device is in one of these states. */
    async block(number, data, states, what) {
        const taken = await this.out(DNLOAD, number & 0xffff, data);
        for (let polls = 0, left = BUSY_MS; polls < POLLS && left > 0; polls++) {
            const { error, wait, state } = await this.status();
            if (!taken || error || state === "dfuERROR") {
                throw new Error(`the boot loader refused ${what}: ${STATUSES[error] ?? `error ${error}`} (${state})`);
            }
            const reached = states.includes(state);
            if (polls && !reached) {
                this.signal.throwIfAborted(); // a busy device takes no ABORT: the next transfer clears it
            }
            left = await this.#rest(wait, left);
            if (reached) {
                return;
            }
        }
        throw new Error(`the boot loader stays busy at ${what}`);
    }

    /** End a transfer at the signal, between two blocks. */
    async #check() {
        if (this.signal.aborted) {
            await this.out(ABORT);
            throw this.signal.reason;
        }
    }

    async write(image, progress) {
        await this.describe();
        await this.idle();
        const { size } = this;
        const blocks = Math.ceil(image.length / size);
        progress(0, blocks);
        for (let at = 0; at < blocks; at++) {
            await this.#check();
            await this.block(at, image.subarray(at * size, (at + 1) * size), ["dfuDNLOAD-IDLE"], `block ${at + 1} of ${blocks}`);
            progress(at + 1, blocks);
        }
        await this.#check();
        // One that is not tolerant answers nothing more, and waits for a reset (7).
        await this.block(blocks, new Uint8Array(), [this.tolerant ? "dfuIDLE" : "dfuMANIFEST"], "the end");
    }

    /** Start the firmware; the device leaves meanwhile. OpenMV's does at DETACH, others at a reset. */
    async leave() {
        if (this.tolerant) {
            await this.out(DETACH).catch(() => {});
        }
        await this.device.reset().catch(() => {});
    }
}

/** The next device that is plugged in; the page needs permission for it. */
function plugged(usb, matches, signal) {
    return new Promise((done, failed) => {
        signal.throwIfAborted();
        const seen = ({ device }) => matches(device) && end(done, device);
        const timer = setTimeout(() => end(failed, new Error("the boot loader did not appear")), PLUG_MS);
        const cancelled = () => end(failed, signal.reason);
        function end(settle, value) {
            clearTimeout(timer);
            usb.removeEventListener("connect", seen);
            signal.removeEventListener("abort", cancelled);
            settle(value);
        }
        usb.addEventListener("connect", seen);
        signal.addEventListener("abort", cancelled);
    });
}

/**
 * Write an image.
 *
 * @param {USB} usb  navigator.usb
 * @param {{device: string, partition: number}} settings  `device`: vendor and product
 * @param {boolean} known  whether the user has chosen the device before
 * @param {AbortSignal} signal  ends it between two blocks, or while the device is busy or not there
 */
export async function flash(usb, settings, image, known, say, progress, signal) {
    const [vendorId, productId] = settings.device.split(":").map((word) => parseInt(word, 16));
    const matches = (each) => each.vendorId === vendorId && each.productId === productId;
    let device = (await usb.getDevices()).find(matches);
    if (!device && !known) {
        say("Plug the board in, or reset it, and choose its boot loader …");
        device = await usb.requestDevice({ filters: [{ vendorId, productId }] });
    }
    let loader = device && new Loader(device, settings.partition, signal);
    try {
        await loader?.open();
    } catch (error) {
        if (!/NotFound|Network|InvalidState/.test(error.name)) {
            throw error;
        }
        loader = null; // it did not wait for the user
    }
    if (!loader) {
        say("Plug the board in, or reset it: the page then starts by itself …");
        loader = new Loader(await plugged(usb, matches, signal), settings.partition, signal);
    }
    try {
        if (!loader.device.opened) {
            await loader.open();
        }
        say("The boot loader takes the image …");
        await loader.write(image, progress);
        await loader.leave();
    } catch (error) {
        throw /NotFound|Network/.test(error.name) ? new Error("the board was unplugged: plug it in and try again") : error;
    } finally {
        await loader.device.close().catch(() => {});
    }
}
