// SPDX-License-Identifier: MIT
/** Flashing over WebUSB by a boot loader with USB's Device Firmware Upgrade, version 1.1. */
import { pause } from "./serial.mjs";

const [DETACH, DNLOAD, GETSTATUS, CLRSTATUS, ABORT] = [0, 1, 3, 4, 6];
const STATES = ["appIDLE", "appDETACH", "dfuIDLE", "dfuDNLOAD-SYNC", "dfuDNBUSY", "dfuDNLOAD-IDLE", "dfuMANIFEST-SYNC", "dfuMANIFEST", "dfuMANIFEST-WAIT-RESET", "dfuUPLOAD-IDLE", "dfuERROR"];
const STATUSES = ["no error", "the file is not for this device", "the file is damaged", "it cannot write", "it cannot erase", "the memory is not empty", "it cannot program", "the memory differs from what was written", "the address is beyond the partition", "the data ended too early", "the firmware is damaged", "a fault of its own", "a USB reset", "a power-on reset", "an unknown error", "an unexpected request"];
const [DESCRIPTOR, CONFIGURATION, FUNCTIONAL] = [6, 0x0200, 0x21];
const REPLY_MS = 10_000;
const PLUG_MS = 60_000;
/** The most polls of one block, so that a device that stays busy is an error. */
const POLLS = 300;
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
    constructor(device, partition) {
        this.device = device;
        this.partition = partition;
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

    async status() {
        const { data } = await this.#ask(this.device.controlTransferIn(this.#setup(GETSTATUS, 0), 6));
        if (data?.byteLength !== 6) {
            throw new Error("the boot loader does not tell its state");
        }
        const wait = data.getUint8(1) | (data.getUint8(2) << 8) | (data.getUint8(3) << 16);
        return { error: data.getUint8(0), wait, state: STATES[data.getUint8(4)] };
    }

    /** The bytes of one block, from the functional descriptor. */
    async blockBytes() {
        const setup = { requestType: "standard", recipient: "device", request: DESCRIPTOR, value: CONFIGURATION, index: 0 };
        const { data } = await this.#ask(this.device.controlTransferIn(setup, 1024));
        for (let at = 0; data && at + 7 <= data.byteLength && data.getUint8(at); at += data.getUint8(at)) {
            if (data.getUint8(at + 1) === FUNCTIONAL) {
                return data.getUint16(at + 5, true);
            }
        }
        throw new Error("the boot loader does not tell the size of its blocks");
    }

    /** Leave what an interrupted transfer left. */
    async idle() {
        for (let tries = 0; tries < 3; tries++) {
            const { state } = await this.status();
            if (state === "dfuIDLE") {
                return;
            }
            await this.out(state === "dfuERROR" ? CLRSTATUS : ABORT);
        }
        throw new Error("the boot loader does not become idle: unplug the board and try again");
    }

    /** Send a block, and wait until the device is in one of these states. */
    async block(number, data, states, what) {
        const taken = await this.out(DNLOAD, number & 0xffff, data);
        for (let polls = 0; polls < POLLS; polls++) {
            const { error, wait, state } = await this.status();
            if (!taken || error || state === "dfuERROR") {
                throw new Error(`the boot loader refused ${what}: ${STATUSES[error] ?? `error ${error}`} (${state})`);
            }
            if (states.includes(state)) {
                return;
            }
            await pause(wait);
        }
        throw new Error(`the boot loader stays busy at ${what}`);
    }

    async write(image, progress) {
        const size = await this.blockBytes();
        await this.idle();
        const blocks = Math.ceil(image.length / size);
        for (let at = 0; at < blocks; at++) {
            await this.block(at, image.subarray(at * size, (at + 1) * size), ["dfuDNLOAD-IDLE"], `block ${at + 1} of ${blocks}`);
            progress(at + 1, blocks);
        }
        await this.block(blocks, new Uint8Array(), ["dfuIDLE", "dfuMANIFEST-WAIT-RESET"], "the end");
    }

    /** Start the firmware; the device leaves meanwhile. */
    async leave() {
        await this.out(DETACH).catch(() => {});
        await this.device.reset().catch(() => {});
    }
}

/** The next device that is plugged in; the page needs permission for it. */
function plugged(usb, matches) {
    return new Promise((done, failed) => {
        const seen = ({ device }) => matches(device) && end(done, device);
        const timer = setTimeout(() => end(failed, new Error("the boot loader did not appear")), PLUG_MS);
        function end(settle, value) {
            clearTimeout(timer);
            usb.removeEventListener("connect", seen);
            settle(value);
        }
        usb.addEventListener("connect", seen);
    });
}

/**
 * Write an image.
 *
 * @param {USB} usb  navigator.usb
 * @param {{device: string, partition: number}} settings  `device`: vendor and product
 * @param {boolean} known  whether the user has chosen the device before
 */
export async function flash(usb, settings, image, known, say, progress) {
    const [vendorId, productId] = settings.device.split(":").map((word) => parseInt(word, 16));
    const matches = (each) => each.vendorId === vendorId && each.productId === productId;
    let device = (await usb.getDevices()).find(matches);
    if (!device && !known) {
        say("Plug the board in, or reset it, and choose its boot loader …");
        device = await usb.requestDevice({ filters: [{ vendorId, productId }] });
    }
    let loader = device && new Loader(device, settings.partition);
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
        loader = new Loader(await plugged(usb, matches), settings.partition);
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
