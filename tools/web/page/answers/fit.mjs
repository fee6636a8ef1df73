// SPDX-License-Identifier: MIT
/** Which boards can run a model, by ethosu_tools/sim/figures.py. */
import { build } from "../model/romfs.mjs";

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
        image: build(new Map([["model.tflite", file]])).length,
        fast: info.fast_scratch_size,
    };
}

const percent = (share) => `${Math.round(100 * share)} %`;

/**
 * A row for each board of settings.json: those that can run the model, those with another NPU, the rest.
 *
 * @param {(calls: object[]) => Promise<object[]>} ask  the rules
 * @param {number} reserve  bytes of the heap that the user's program keeps
 * @returns {Promise<{board, status, lacks, text}[]>}
 */
export async function rowsOf(ask, need, rooms, reserve) {
    const found = await ask(rooms.map((room) => ["figures", "compare", [need, { ...room, reserve }]]));
    const rows = found.map(({ status, lacks, words, shares }, at) => {
        const parts = status === "runs" ? `: ${percent(shares.heap)} of its heap, ${percent(shares.rom)} of /rom` : "";
        return { board: rooms[at].board, status, lacks, text: `${words}${parts}` };
    });
    return ["runs", "other NPU", "too large"].flatMap((each) => rows.filter(({ status }) => status === each));
}
