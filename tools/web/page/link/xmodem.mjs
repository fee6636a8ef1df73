// SPDX-License-Identifier: MIT
/** XMODEM with CRC-16 and blocks of 128 bytes: the sender. */

const [SOH, EOT, CAN] = [0x01, 0x04, 0x18];
const BLOCK_BYTES = 128;
const FILLER = 0x1a;
const POLYNOMIAL = 0x1021;
const TRIES = 10;
/** A boot loader may erase flash before it answers. */
const REPLY_MS = 10_000;
/** Waits without any answer before the board counts as silent. */
const SILENCES = 3;

function crc16(bytes) {
    let crc = 0;
    for (const byte of bytes) {
        crc ^= byte << 8;
        for (let bit = 0; bit < 8; bit++) {
            crc = ((crc << 1) ^ (crc & 0x8000 ? POLYNOMIAL : 0)) & 0xffff;
        }
    }
    return crc;
}

/** Block `index`, which counts from 0; its number on the line counts from 1 and wraps. */
function blockOf(data, index) {
    const content = new Uint8Array(BLOCK_BYTES).fill(FILLER);
    content.set(data.subarray(index * BLOCK_BYTES, (index + 1) * BLOCK_BYTES));
    const number = (index + 1) & 0xff;
    const crc = crc16(content);
    return Uint8Array.of(SOH, number, 255 - number, ...content, crc >> 8, crc & 0xff);
}

/** Tell the receiver that no more data comes. */
async function cancel(line) {
    await line.write(Uint8Array.of(CAN, CAN, CAN));
}

/** Send bytes until they are accepted; @returns {Promise<number>} how often they were sent again */
async function accepted(line, bytes, what) {
    for (let again = 0, silences = 0; again < TRIES; again++) {
        line.forget();
        await line.write(bytes);
        const reply = (await line.waitFor(/[\x06\x15\x18]/, REPLY_MS))?.[0];
        if (reply === "\x06") {
            return again;
        }
        if (reply === "\x18") {
            throw new Error(`the boot loader cancelled the transfer at ${what}`);
        }
        if (!reply && ++silences === SILENCES) {
            throw new Error(`the boot loader fell silent at ${what}`);
        }
    }
    await cancel(line);
    throw new Error(`the boot loader rejected ${what} ${TRIES} times: the line is bad; try another cable or plug`);
}

/**
 * Send data to a receiver that asks for it.
 *
 * @param {Line} line
 * @param {Uint8Array} data
 * @param {(done: number, all: number) => void} progress  in blocks
 * @returns {Promise<number>} how many blocks were sent again
 */
export async function send(line, data, progress) {
    if (!(await line.waitFor(/C$/, REPLY_MS))) {
        throw new Error(`the boot loader does not ask for the data; ${line.last}`);
    }
    const blocks = Math.ceil(data.length / BLOCK_BYTES);
    let again = 0;
    progress(0, blocks);
    for (let index = 0; index < blocks; index++) {
        try {
            again += await accepted(line, blockOf(data, index), `block ${index + 1} of ${blocks}`);
        } catch (error) {
            if (line.signal.aborted) {
                await cancel(line);
            }
            throw error;
        }
        progress(index + 1, blocks);
    }
    // A receiver may reject the first EOT, to be sure that it is one.
    await accepted(line, Uint8Array.of(EOT), "the end");
    return again;
}
