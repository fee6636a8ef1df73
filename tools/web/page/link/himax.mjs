// SPDX-License-Identifier: MIT
/**
 * Flashing by the boot loader of Himax's WE2: a menu on the serial line, then XMODEM. Source: README
 * and xmodem_send.py of HimaxWiseEyePlus/Seeed_Grove_Vision_AI_Module_V2, and recorded output. Never
 * tested on a chip.
 */
import { Line } from "./serial.mjs";
import { send } from "./xmodem.mjs";

const MENU = /\[1\] Xmodem/;
const READY = /Send data using the xmodem protocol/;
const END = /end file transmission and reboot system/;
const KEY = "1\r";
/** The boot loader listens for 100 ms, newer ones for 30 ms. */
const KEY_MS = 10;
/** Time to press the reset button. */
const RESET_MS = 60_000;
const MENU_MS = 500;
const MENU_TRIES = 20;
const END_MS = 30_000;
const PULSE_MS = 100;
/** What Himax's images begin with. */
const MAGIC = "ckBS";
const PLACE_BYTES = 128;

/** @throws {Error} if these bytes are no image that the boot loader takes */
export function check(image, { largest }) {
    if (String.fromCharCode(...image.subarray(0, 4)) !== MAGIC) {
        throw new Error("it is no image of Himax's tool, which begins with “ckBS”: the tool makes output.img of firmware.elf, as the board's page says");
    }
    if (image.length > largest) {
        throw new Error(`it has ${image.length} bytes, but the board takes at most ${largest}`);
    }
}

/** The block that says where in the flash the next data belongs. */
function placeOf(address) {
    const block = new Uint8Array(PLACE_BYTES).fill(0xff);
    const view = new DataView(block.buffer);
    view.setUint16(0, 0xc05a);
    view.setUint32(2, address, true);
    view.setUint32(6, 0, true);
    view.setUint16(10, 0x5ac0);
    return block;
}

async function enter(line) {
    await line.pulse(PULSE_MS);
    let found = null;
    let late = false;
    const timer = setTimeout(() => (late = true), RESET_MS);
    while (!found) {
        if (late) {
            throw new Error(`the boot loader did not answer; ${line.last}. Is it this port? Press the board's reset button while the page waits`);
        }
        await line.write(KEY);
        found = await line.waitFor(new RegExp(`${MENU.source}|${READY.source}`), KEY_MS);
    }
    clearTimeout(timer);
    // A key typed before the menu was there may have chosen already.
    for (let tries = 0; !READY.test(found?.[0]); tries++) {
        if (tries === MENU_TRIES) {
            throw new Error(`the boot loader's menu did not react; ${line.last}`);
        }
        found = await line.waitFor(READY, MENU_MS);
        if (!found) {
            await line.write(KEY);
        }
    }
}

async function ended(line) {
    if (!(await line.waitFor(END, END_MS))) {
        throw new Error(`the boot loader did not confirm the data; ${line.last}`);
    }
}

/**
 * Write an image, and a ROM file system if it is not null.
 *
 * @param {SerialPort} port
 * @param {{baud: number, rom: number}} settings  `rom`: where in the flash the ROM file system belongs
 * @param {AbortSignal} signal  ends it
 * @returns {Promise<number>} how many blocks were sent again
 */
export async function flash(port, settings, image, rom, say, progress, signal) {
    const line = await Line.open(port, settings.baud, signal);
    try {
        say("Press the board's reset button, if nothing happens by itself …");
        await enter(line);
        say("The boot loader takes the image …");
        let again = await send(line, image, progress);
        await ended(line);
        for (const part of rom ? [placeOf(settings.rom), rom] : []) {
            say("The boot loader takes the files of /rom …");
            await line.write("n\r");
            again += await send(line, part, progress);
            await ended(line);
        }
        await line.write("y\r");
        return again;
    } finally {
        await line.close();
    }
}
