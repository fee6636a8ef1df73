// SPDX-License-Identifier: MIT
/**
 * A plan for CPU kernels, like that of tools/ethosu_tools/plan but without overlaps: each tensor
 * without an offset, and each kernel's scratch, gets separate memory. This allows an uncompiled model
 * to run on the CPU alone.
 */
import { Model, ask } from "./model.mjs";
import { put } from "./tflite.mjs";

const OFFSETS_NAME = "OfflineMemoryAllocation";
const RECORD_NAME = "ethosu_plan";
const MARK = 0x4e4c5045; // "EPLN"
const VERSION = 1;
const PLANNER = 0; // only for messages of the runtime: not a version of `ethosu compile`
const ALIGNMENT = 16;

const align = (size) => Math.ceil(size / ALIGNMENT) * ALIGNMENT;
const words = (...values) => new Uint8Array(Int32Array.from(values).buffer);

/** Offsets of all tensors of the main graph, and their total size in bytes. */
function place(model) {
    const before = model.entries.get(OFFSETS_NAME);
    const had = before ? new Int32Array(before.slice().buffer) : new Int32Array([0, 1, 0]);
    const [version, graphs, , ...planned] = had;
    const { fastScratch } = model;
    let end = 0;
    model.tensors.forEach((tensor, i) => {
        end = tensor.offset >= 0 && i !== fastScratch ? Math.max(end, tensor.offset + tensor.size) : end;
    });
    const offsets = model.tensors.map((tensor, i) => {
        if (tensor.offset >= 0 || tensor.constant.length || i === fastScratch) {
            return tensor.offset;
        }
        const at = align(end);
        end = at + tensor.size;
        return at;
    });
    const all = [...offsets, ...planned.slice(offsets.length)];
    return { offsets: words(version, graphs, all.length, ...all), end };
}

/**
 * @param {WebAssembly.Module} module  ethosu.wasm
 * @param {Uint8Array} bytes  a .tflite, compiled or not
 * @returns {Uint8Array} the same with a plan, if CPU kernels need one. Throws an Error with the
 *   runtime's message for an unsupported operator.
 */
export function planned(module, bytes) {
    const model = new Model(module, bytes);
    if (model.operators.every(({ npu }) => npu)) {
        return bytes;
    }
    const { offsets, end } = place(model);
    const header = (arena, entries) => [MARK, VERSION, PLANNER, arena, entries];
    const first = put(bytes, { [OFFSETS_NAME]: offsets, [RECORD_NAME]: words(...header(end, 0)) });
    let arena = align(end);
    const entries = ask(module, "web_kernels", first)
        .filter(([, , scratch]) => scratch > 0)
        .map(([operator, version, scratch]) => {
            const at = arena;
            arena = align(arena + scratch);
            return [operator, model.operators[operator].code, version, at, scratch];
        });
    const record = words(...header(arena, entries.length), ...entries.flat());
    return put(bytes, { [OFFSETS_NAME]: offsets, [RECORD_NAME]: record });
}
