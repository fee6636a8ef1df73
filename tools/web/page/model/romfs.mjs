// SPDX-License-Identifier: MIT
/**
 * Images of MicroPython's ROM file system, as tools/ethosu_tools/model/romfs.py makes them: records of
 * kind, length and payload, the first two as big-endian numbers of seven bits per byte.
 */

const MAGIC = [0xd2, 0xcd, 0x31];
const PADDING = 1;
const DATA = 2;
const FILE = 5;
const LENGTH_BYTES = 5;
const HEAD_BYTES = 1 + LENGTH_BYTES;
const ALIGNMENT = 16;

function number(value, width = 1) {
    const bytes = [value % 128];
    for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) {
        bytes.unshift(128 + (rest % 128));
    }
    return [...Array(Math.max(0, width - bytes.length)).fill(128), ...bytes];
}

/** The records in front of a file's data at `at`, whose data is aligned then. */
function headOf(name, size, at) {
    const label = new TextEncoder().encode(name);
    const front = [...number(label.length), ...label];
    let missing = (ALIGNMENT - ((at + HEAD_BYTES + front.length + HEAD_BYTES) % ALIGNMENT)) % ALIGNMENT;
    missing += missing === 1 ? ALIGNMENT : 0; // the shortest record has two bytes
    const padding = missing ? [PADDING, ...number(missing - 2), ...Array(missing - 2).fill(0)] : [];
    const inside = [...front, ...padding, DATA, ...number(size, LENGTH_BYTES)];
    return [FILE, ...number(inside.length + size, LENGTH_BYTES), ...inside];
}

/**
 * An image of these files.
 *
 * @param {Map<string, Uint8Array>} files  by name; there are no folders
 * @returns {Uint8Array}
 */
export function build(files) {
    const start = MAGIC.length + LENGTH_BYTES;
    const parts = [];
    let at = start;
    for (const [name, content] of files) {
        const head = headOf(name, content.length, at);
        parts.push(head, content);
        at += head.length + content.length;
    }
    if ((at - start) % 2) {
        parts.push([PADDING, 1, 0]);
        at += 3;
    }
    const image = new Uint8Array(at);
    image.set([...MAGIC, ...number(at - start, LENGTH_BYTES)]);
    at = start;
    for (const part of parts) {
        image.set(part, at);
        at += part.length;
    }
    return image;
}
