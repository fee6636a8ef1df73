// SPDX-License-Identifier: MIT
/**
 * Latency of an inference on boards with the chosen NPU. The simulator counts the cycles with the
 * timing of the board's memories, as for `ethosu check`.
 */
import { runProgram } from "../board/board_client.mjs";

/** Vela's examples are not boards; they are used only if there is no board. */
const isExample = (system) => /^Ethos_/.test(system.name);

/** Systems with this NPU: boards and chips, else Vela's example. */
export function systemsOf(settings, npu) {
    const all = settings.systems.filter((system) => system.npu === npu);
    const real = all.filter((system) => !isExample(system));
    return real.length ? real : all;
}

async function cyclesOf(module, npu, files, memories, program, signal) {
    let cycles = 0;
    await runProgram(module, { npus: [npu], files, memories, program, signal }, (row) => ({ cycles } = row));
    return cycles;
}

/**
 * @param {Uint8Array} model  compiled for `npu`
 * @param {number} constants  bytes that the NPU reads
 * @param {(calls: object[]) => Promise<object[]>} ask  the rules
 * @param {(row: object) => void} onRow  called for each system: {system, usual, cycles, ms, low_ms, high_ms, basis};
 *   usual: its weights are where the board has them if nobody says otherwise
 */
export async function latencies(module, settings, npu, model, constants, program, ask, signal, onRow) {
    const files = new Map([["model", model]]);
    const counted = new Map();
    const count = async (memories) => {
        const key = JSON.stringify(memories);
        if (!counted.has(key)) {
            counted.set(key, await cyclesOf(module, npu, files, memories, program, signal));
        }
        return counted.get(key);
    };
    const ideal = await count([]);
    // Lower bounds come last, because they would look like the fastest systems.
    const bound = (system) => Number(system.outside || !system.checked ? 1 : 0);
    const systems = systemsOf(settings, npu);
    const first = new Set(systems.filter(({ name }, at) => systems.findIndex((each) => each.name === name) === at));
    for (const system of systems.sort((a, b) => bound(a) - bound(b))) {
        const cycles = await count(system.memories);
        const [interval] = await ask([["figures", "interval", [cycles, ideal, constants, system]]]);
        onRow({ system, usual: first.has(system), cycles, ...interval });
    }
}
