// SPDX-License-Identifier: MIT
/** Which boards can run a model: the rules of tools/ethosu_tools/fit.py. */
import { build } from "./romfs.mjs";

const count = (number) => number.toLocaleString("en");
const NAMES = { heap: "heap", fast: "fast memory", rom: "/rom" };

/**
 * What a compiled model needs, in bytes.
 *
 * @param {Model} model
 * @param {Uint8Array} file  the model's
 * @param {object} info  Model.info() on the page's board
 */
export function needOf(model, file, info) {
    return {
        npu: model.call?.npu ?? null,
        heap: info.arena_size + info.object_size,
        rom: build(new Map([["model.tflite", file]])).length,
        fast: info.fast_scratch_size,
    };
}

/**
 * Compare a need with a board of settings.json, of whose heap the user's program keeps a part.
 *
 * @returns {object} missing bytes, by resource, and `npus`, the board's if the model's is not among them
 */
export function check(need, room, reserve) {
    const fast = room.fast[need.npu] ?? 0;
    const apart = fast ? need.fast : 0;
    const left = {
        heap: room.heap - reserve - (need.heap - apart),
        fast: fast - apart,
        rom: room.rom - need.rom,
    };
    const lacks = Object.fromEntries(Object.entries(left).filter(([, bytes]) => bytes < 0).map(([name, bytes]) => [name, -bytes]));
    return need.npu === null || room.npus.includes(need.npu) ? lacks : { ...lacks, npus: room.npus };
}

function words({ npus, ...lacks }) {
    const bytes = Object.entries(lacks).map(([name, missing]) => `${count(missing)} bytes of ${NAMES[name]} too few`);
    return [...(npus ? [`has ${npus.join(" and ") || "no NPU"}`] : []), ...bytes].join("; ");
}

/** A row for each board, those that can run the model first: its name, what it lacks, a text. */
export function rowsOf(need, rooms, reserve) {
    const rows = rooms.map((room) => {
        const lacks = check(need, room, reserve);
        const fits = !Object.keys(lacks).length;
        const shares = `${Math.round((100 * need.heap) / Math.max(1, room.heap - reserve))} % of its heap, ${Math.round((100 * need.rom) / room.rom)} % of /rom`;
        return { board: room.board, lacks, fits, text: fits ? `yes: ${shares}` : `no: ${words(lacks)}` };
    });
    return rows.sort((a, b) => Number(b.fits) - Number(a.fits));
}
