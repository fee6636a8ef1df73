// SPDX-License-Identifier: MIT
/** Reads a released archive (zip). */

const [LOCAL, CENTRAL, END] = [0x04034b50, 0x02014b50, 0x06054b50];
const [STORED, DEFLATED] = [0, 8];

/** The entries of the central directory. */
function entriesOf(view) {
    let end = view.byteLength - 22;
    while (end >= 0 && view.getUint32(end, true) !== END) {
        end--;
    }
    const entries = [];
    let at = end < 0 ? view.byteLength : view.getUint32(end + 16, true);
    while (at + 46 <= view.byteLength && view.getUint32(at, true) === CENTRAL) {
        const [name, more, comment] = [28, 30, 32].map((field) => view.getUint16(at + field, true));
        entries.push({
            name: new TextDecoder().decode(new Uint8Array(view.buffer, view.byteOffset + at + 46, name)),
            method: view.getUint16(at + 10, true),
            size: view.getUint32(at + 20, true),
            start: view.getUint32(at + 42, true),
        });
        at += 46 + name + more + comment;
    }
    return entries;
}

async function unpack(view, { name, method, size, start }) {
    const data = start + 30 + view.getUint16(start + 26, true) + view.getUint16(start + 28, true);
    const packed = new Uint8Array(view.buffer, view.byteOffset + data, size);
    if (method === STORED) {
        return packed;
    }
    if (method !== DEFLATED) {
        throw new Error(`${name} is packed by method ${method}`);
    }
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

/**
 * The files of a zip archive, without their folders; of any other file, itself.
 *
 * @param {string} name
 * @param {Uint8Array} bytes
 * @returns {Promise<Map<string, Uint8Array>>} by name
 */
export async function filesIn(name, bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (bytes.length < 4 || view.getUint32(0, true) !== LOCAL) {
        return new Map([[name, bytes]]);
    }
    const files = new Map();
    for (const entry of entriesOf(view)) {
        try {
            files.set(entry.name.split("/").pop(), await unpack(view, entry));
        } catch (error) {
            throw new Error(`${name} is damaged: ${entry.name} (${error.message})`);
        }
    }
    return files;
}

/**
 * The board that a released archive is for; null for other files.
 *
 * @param {string} name
 * @param {Map<string, Uint8Array>} files  what is in it
 * @throws {Error} if it is not what was released
 */
export async function boardOf(name, files) {
    const listed = files.get("board.json");
    if (!listed) {
        return null;
    }
    let board, sums;
    try {
        const contents = JSON.parse(new TextDecoder().decode(listed));
        board = contents.board.toString();
        sums = Object.entries(contents.files).map(([file, { sha256 }]) => [file, sha256.toString()]);
    } catch {
        throw new Error(`${name} is not a board's archive of a release`);
    }
    for (const [file, expected] of sums) {
        const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", files.get(file) ?? new Uint8Array()));
        if (Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("") !== expected) {
            throw new Error(`${name} is damaged: ${file} is not the file that was released`);
        }
    }
    return board;
}
