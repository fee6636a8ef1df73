// SPDX-License-Identifier: MIT
/**
 * A plan for what CPU kernels compute, as tools/ethosu_tools/plan makes it but without overlaps: each
 * tensor that has no offset, and each kernel's scratch, gets memory of its own. So an uncompiled
 * model runs on the CPU alone.
 */
import { Board } from "./board.mjs";
import { Model, put } from "./tflite.mjs";

const OFFSETS_NAME = "OfflineMemoryAllocation";
const RECORD_NAME = "ethosu_plan";
const MARK = 0x4e4c5045; // "EPLN"
const VERSION = 1;
const PLANNER = 0; // for sentences of the runtime only: it is not the planner of `ethosu plan`
const ALIGNMENT = 16;
// Sizes of struct ethosu_model_source, _kernel and _error.
const SOURCE_BYTES = 36;
const KERNEL_BYTES = 16;
const ERROR_BYTES = 192;

const align = (size) => Math.ceil(size / ALIGNMENT) * ALIGNMENT;
const words = (...values) => new Uint8Array(Int32Array.from(values).buffer);

/** Offsets of all tensors of the main graph, and the bytes that they take. */
function place(model) {
    const before = model.metadata(OFFSETS_NAME);
    const had = before ? new Int32Array(before.slice().buffer) : new Int32Array([0, 1, 0]);
    const [version, graphs, , ...planned] = had;
    const offset = (i) => planned[i] ?? -1;
    const { fastScratch } = model;
    let end = 0;
    model.tensors.forEach((tensor, i) => {
        end = offset(i) >= 0 && i !== fastScratch ? Math.max(end, offset(i) + tensor.size) : end;
    });
    const offsets = model.tensors.map((tensor, i) => {
        if (offset(i) >= 0 || tensor.constant || i === fastScratch) {
            return offset(i);
        }
        const at = align(end);
        end = at + tensor.size;
        return at;
    });
    const all = [...offsets, ...planned.slice(offsets.length)];
    return { offsets: words(version, graphs, all.length, ...all), end };
}

/** The kernels of a model with offsets and an empty plan; the runtime itself is asked. */
function kernels(module, bytes, count) {
    const board = new Board(module, {}, { npus: [] });
    board.start(0);
    const { _gc_heap_start: heap, _gc_heap_end: limit } = board.instance.exports;
    const rows = heap.value + SOURCE_BYTES;
    const found = rows + KERNEL_BYTES * count;
    const error = found + 4;
    const file = align(error + ERROR_BYTES);
    if (file + bytes.length > limit.value) {
        throw new Error("the model is too large for this board");
    }
    const view = new DataView(board.memory.buffer);
    new Uint8Array(board.memory.buffer).fill(0, heap.value, file).set(bytes, file);
    view.setUint32(heap.value, file, true);
    view.setUint32(heap.value + 4, bytes.length, true);
    view.setUint32(found, count, true);
    const status = board.instance.exports.ethosu_model_kernels(heap.value, rows, found, error);
    if (status !== 0) {
        const text = board.bytes(error, ERROR_BYTES);
        throw new Error(new TextDecoder().decode(text.subarray(0, text.indexOf(0))));
    }
    return Array.from({ length: view.getUint32(found, true) }, (_, i) => {
        const at = rows + KERNEL_BYTES * i;
        const [operator, version, scratch] = [0, 4, 8].map((field) => view.getUint32(at + field, true));
        return { operator, version, scratch };
    });
}

/**
 * @param {WebAssembly.Module} module  ethosu.wasm
 * @param {Uint8Array} bytes  a .tflite, compiled or not
 * @returns {Uint8Array} the same with a plan, where CPU kernels need one. Throws the runtime's own
 *   sentence for an operator that it does not have.
 */
export function planned(module, bytes) {
    const model = new Model(bytes);
    const onNpu = model.operators.filter((operator) => operator.code?.custom === "ethos-u").length;
    const count = model.operators.length - onNpu;
    if (count === 0) {
        return bytes;
    }
    const { offsets, end } = place(model);
    const header = (arena, entries) => [MARK, VERSION, PLANNER, arena, entries];
    const first = put(bytes, { [OFFSETS_NAME]: offsets, [RECORD_NAME]: words(...header(end, 0)) });
    let arena = align(end);
    const entries = kernels(module, first, count)
        .filter((kernel) => kernel.scratch > 0)
        .map(({ operator, version, scratch }) => {
            const at = arena;
            arena = align(arena + scratch);
            return [operator, model.operators[operator].code.builtin, version, at, scratch];
        });
    const record = words(...header(arena, entries.length), ...entries.flat());
    return put(bytes, { [OFFSETS_NAME]: offsets, [RECORD_NAME]: record });
}
