// SPDX-License-Identifier: MIT
/** A model file, described by the runtime in ethosu.wasm: ../../board/describe.c. */
import { Board } from "../../board/js/board.mjs";

/**
 * @param {WebAssembly.Module} module  ethosu.wasm
 * @param {string} question  an export of describe.c
 * @param {Uint8Array} bytes  the file
 * @returns the output of the export. Throws an Error with the runtime's message.
 */
export function ask(module, question, bytes) {
    let text = "";
    const decoder = new TextDecoder();
    const write = (piece) => (text += decoder.decode(piece, { stream: true }));
    const board = new Board(module, { write }, { npus: [] });
    board.start(0);
    const { _gc_heap_start: heap, _gc_heap_end: limit, [question]: answer } = board.instance.exports;
    if (heap.value + bytes.length > limit.value) {
        throw new Error("the model is too large for this board");
    }
    board.bytes(heap.value, bytes.length).set(bytes);
    const why = answer(heap.value, bytes.length);
    if (why !== 0) {
        const message = new Uint8Array(board.memory.buffer, why);
        throw new Error(decoder.decode(message.slice(0, message.indexOf(0))));
    }
    return JSON.parse(text);
}

/** Inputs of the NPU's operator: the command stream, then these. */
export const [NPU_CONSTANTS, NPU_SCRATCH, NPU_FAST_SCRATCH] = [1, 2, 3];

/** A file's main graph. Throws an Error if it is damaged. */
export class Model {
    constructor(module, bytes) {
        const [, inputs, outputs, tensors, operators, entries] = ask(module, "web_describe", bytes);
        const content = (start, size) => bytes.subarray(start, start + size);
        Object.assign(this, { inputs, outputs });
        this.tensors = tensors.map(([name, size, offset, start, length, type, shape]) =>
            ({ name, size, offset, constant: content(start, length), type, shape }));
        this.operators = operators.map(([name, code, npu, ins, outs]) => ({ name, code, npu, inputs: ins, outputs: outs }));
        this.entries = new Map(entries.map(([name, start, size]) => [name, content(start, size)]));
        /** Its first call of the NPU; undefined if it is not compiled. */
        this.call = this.operators.find(({ npu }) => npu);
    }

    /** Bytes of constants that the NPU reads; operators may share a tensor. */
    get constants() {
        const used = this.operators.filter(({ npu }) => npu).map(({ inputs }) => inputs[NPU_CONSTANTS]);
        return [...new Set(used)].reduce((sum, index) => sum + (this.tensors[index]?.constant.length ?? 0), 0);
    }

    /**
     * Index of the tensor of the NPU's fast scratch; undefined if it is the scratch itself, or missing.
     * It is not part of the arena, although it has an offset: Vela plans it for another memory.
     */
    get fastScratch() {
        const inputs = this.call?.inputs ?? [];
        return inputs[NPU_FAST_SCRATCH] === inputs[NPU_SCRATCH] ? undefined : inputs[NPU_FAST_SCRATCH];
    }
}
