// SPDX-License-Identifier: MIT
/** Stores metadata in a `.tflite`, as tools/ethosu_tools/tflite does. */

const FILE_ALIGNMENT = 64;
const CONTENT_ALIGNMENT = 16;

/** A table of a flatbuffer that the runtime has already checked. */
class Table {
    constructor(view, at) {
        this.view = view;
        this.at = at;
        const vtable = at - view.getInt32(at, true);
        const size = view.getUint16(vtable, true);
        this.slots = [];
        for (let slot = 4; slot + 2 <= size; slot += 2) {
            this.slots.push(view.getUint16(vtable + slot, true));
        }
    }
    /** Offset of a field; 0 if it is absent. */
    offset(field) {
        const slot = this.slots[field] ?? 0;
        return slot ? this.at + slot : 0;
    }
    target(field) {
        const offset = this.offset(field);
        return offset ? offset + this.view.getUint32(offset, true) : 0;
    }
    uint(field) {
        const offset = this.offset(field);
        return offset ? this.view.getUint32(offset, true) : 0;
    }
    text(field) {
        const start = this.target(field);
        const size = start ? this.view.getUint32(start, true) : 0;
        return new TextDecoder().decode(new Uint8Array(this.view.buffer, this.view.byteOffset + start + 4, size));
    }
    tables(field) {
        const start = this.target(field);
        const count = start ? this.view.getUint32(start, true) : 0;
        return Array.from({ length: count }, (_, i) => {
            const at = start + 4 + 4 * i;
            return new Table(this.view, at + this.view.getUint32(at, true));
        });
    }
}

// Fields of the schema's tables, by number.
const MODEL = { version: 0, buffers: 4, metadata: 6, count: 8 };

/** Appends tables one after the other; the target of a field must be added after the field. */
class Front {
    constructor() {
        this.bytes = new DataView(new ArrayBuffer(1 << 16));
        this.size = 0;
    }
    room(size, alignment = 4) {
        const at = Math.ceil(this.size / alignment) * alignment;
        this.size = at + size;
        while (this.size > this.bytes.byteLength) {
            const larger = new Uint8Array(2 * this.bytes.byteLength);
            larger.set(new Uint8Array(this.bytes.buffer));
            this.bytes = new DataView(larger.buffer);
        }
        return at;
    }
    /** A table with these fields, 4 bytes each; returns the offsets of the fields. */
    table(fields) {
        const count = Math.max(...fields) + 1;
        const vtable = this.room(4 + 2 * count);
        const at = this.room(4 + 4 * fields.length);
        this.bytes.setUint16(vtable, 4 + 2 * count, true);
        this.bytes.setUint16(vtable + 2, 4 + 4 * fields.length, true);
        fields.forEach((field, i) => this.bytes.setUint16(vtable + 4 + 2 * field, 4 + 4 * i, true));
        this.bytes.setInt32(at, at - vtable, true);
        return { at, offsets: new Map(fields.map((field, i) => [field, at + 4 + 4 * i])) };
    }
    vector(count) {
        const at = this.room(4 + 4 * count);
        this.bytes.setUint32(at, count, true);
        return at;
    }
    content(bytes, alignment) {
        const at = this.room(alignment, alignment) + alignment - 4; // the length is in front
        this.room(bytes.length + 1, 1); // a string ends with a zero
        this.bytes.setUint32(at, bytes.length, true);
        new Uint8Array(this.bytes.buffer).set(bytes, at + 4);
        return at;
    }
    point(offset, target) {
        this.bytes.setUint32(offset, target - offset, true);
    }
}

/**
 * The model with this metadata, replacing entries with the same names. The file is unchanged, behind
 * a new root table that points into it.
 *
 * @param {Uint8Array} bytes
 * @param {Object<string, Uint8Array>} contents
 */
export function put(bytes, contents) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const root = new Table(view, view.getUint32(0, true));
    const buffers = root.tables(MODEL.buffers);
    const kept = root.tables(MODEL.metadata).filter((entry) => !(entry.text(0) in contents));
    const names = Object.keys(contents);
    const front = new Front();
    const old = []; // offsets of pointers into the old file
    const head = front.room(8);
    front.bytes.setUint32(4, 0x334c4654, true); // "TFL3"

    const fields = [...Array(MODEL.count).keys()].filter((field) => root.offset(field) || field === MODEL.metadata);
    const model = front.table(fields);
    front.point(head, model.at);
    for (const [field, offset] of model.offsets) {
        if (field === MODEL.version) {
            front.bytes.setUint32(offset, root.uint(field), true);
        } else if (field !== MODEL.buffers && field !== MODEL.metadata) {
            old.push([offset, root.target(field)]);
        }
    }
    function list(field, tables, more) {
        const at = front.vector(tables.length + more);
        front.point(model.offsets.get(field), at);
        tables.forEach((table, i) => old.push([at + 4 + 4 * i, table.at]));
        return at + 4 + 4 * tables.length;
    }
    const newBuffers = list(MODEL.buffers, buffers, names.length);
    const newEntries = list(MODEL.metadata, kept, names.length);
    names.forEach((name, i) => {
        const entry = front.table([0, 1]);
        front.point(newEntries + 4 * i, entry.at);
        front.bytes.setUint32(entry.offsets.get(1), buffers.length + i, true);
        front.point(entry.offsets.get(0), front.content(new TextEncoder().encode(name), 4));
        const buffer = front.table([0]);
        front.point(newBuffers + 4 * i, buffer.at);
        front.point(buffer.offsets.get(0), front.content(contents[name], CONTENT_ALIGNMENT));
    });

    const start = Math.ceil(front.size / FILE_ALIGNMENT) * FILE_ALIGNMENT;
    old.forEach(([offset, target]) => front.point(offset, start + target));
    const result = new Uint8Array(start + bytes.length);
    result.set(new Uint8Array(front.bytes.buffer, 0, front.size));
    result.set(bytes, start);
    return result;
}

// TFLite metadata is an entry and a ZIP archive behind the model. ZIP_END is for an archive without a comment.
const TFLITE_METADATA = "TFLITE_METADATA";
const ZIP_END = [0x50, 0x4b, 5, 6];
const ZIP_END_BYTES = 22;
const PADDING_MAX = 1024;

/** The archive behind a model, which usually contains labels; empty if there is none. */
function archive(bytes) {
    for (let end = bytes.length - ZIP_END_BYTES; end >= Math.max(0, bytes.length - PADDING_MAX); end--) {
        if (ZIP_END.every((byte, i) => bytes[end + i] === byte)) {
            const view = new DataView(bytes.buffer, bytes.byteOffset + end);
            const start = end - view.getUint32(12, true) - view.getUint32(16, true);
            return start > 0 ? bytes.subarray(start, end + ZIP_END_BYTES) : new Uint8Array(0);
        }
    }
    return new Uint8Array(0);
}

/**
 * A compiled model with the TFLite metadata of its source, which Vela drops.
 *
 * @param {Map<string, Uint8Array>} entries  of the source
 */
export function copyMetadata(source, entries, compiled) {
    const entry = entries.get(TFLITE_METADATA);
    if (!entry) {
        return compiled;
    }
    const model = put(compiled, { [TFLITE_METADATA]: entry });
    const files = archive(source);
    const result = new Uint8Array(model.length + files.length);
    result.set(model);
    result.set(files, model.length);
    return result;
}
