// SPDX-License-Identifier: MIT
/** Which boards can run a model: the rules and the words of tools/ethosu_tools/fit.py. */
import { build } from "./romfs.mjs";

const count = (number) => number.toLocaleString("en");
/** Input of the NPU's operator with the weights and other constants. */
const NPU_CONSTANTS = 1;

/**
 * What a compiled model needs, in bytes.
 *
 * @param {Model} model
 * @param {Uint8Array} file  the model's
 * @param {object} info  Model.info() on the page's board
 */
export function needOf(model, file, info) {
    const calls = model.operators.filter(({ npu }) => npu);
    return {
        npu: model.call?.npu ?? null,
        heap: info.arena_size + info.object_size,
        rom: build(new Map([["model.tflite", file]])).length,
        fast: info.fast_scratch_size,
        constants: calls.reduce((sum, { inputs }) => sum + model.tensors[inputs[NPU_CONSTANTS]].size, 0),
    };
}

/**
 * Compare a need with a board of settings.json, of whose heap the user's program keeps a part.
 *
 * @returns {string[]} a sentence for each missing resource
 */
export function check(need, room, reserve) {
    const short = [];
    if (need.npu !== null && !room.npus.includes(need.npu)) {
        short.push(`it is compiled for ${need.npu}, but ${room.board} has ${room.npus.join(" and ") || "no NPU"}`);
    }
    const fast = room.fast[need.npu] ?? 0;
    const apart = fast ? need.fast : 0;
    const reserved = reserve ? `, ${count(reserve)} of them reserved` : "";
    const constants = need.constants ? `, ${count(need.constants)} of them constants` : "";
    for (const [what, used, where, has, kept] of [
        ["its arena", need.heap - apart, "heap", room.heap, reserve],
        ["its fast scratch", apart, "fast memory", fast, 0],
        ["its file", need.rom, "/rom", room.rom, 0],
    ]) {
        if (used > has - kept) {
            const of = where === "/rom" ? constants : "";
            const less = `${count(used - has + kept)} too few`;
            short.push(`${what} needs ${count(used)} bytes of ${where}${of}, but ${room.board} has ${count(has)}${kept ? reserved : ""} (${less})`);
        }
    }
    return short;
}

/** A row for each board: its name, and whether the model fits. */
export function rowsOf(need, rooms, reserve) {
    return rooms.map((room) => {
        const short = check(need, room, reserve);
        const sizes = `${count(need.heap)} of ${count(room.heap - reserve)} bytes of heap, ${count(need.rom)} of ${count(room.rom)} of /rom`;
        return { board: room.board, fits: !short.length, text: short.length ? `no: ${short.join("; ")}` : `yes: ${sizes}` };
    });
}
