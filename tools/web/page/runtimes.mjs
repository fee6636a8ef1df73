// SPDX-License-Identifier: MIT
/** What other runtimes do with a model: the rules of `ethosu check`, run by a board of their own. */
import { runProgram } from "./board_client.mjs";
import { NPU_SCRATCH } from "./model.mjs";

/**
 * The facts of a model that decide, as ethosu_tools/check/subject.py has them.
 *
 * @param {object} settings  settings.json, with names of types, and of operators that may work in place
 */
function factsOf(model, { dtypes, renaming }) {
    const shapes = (ends) => ends.map((index) => model.tensors[index].shape);
    const scratch = Math.max(0, ...model.operators.filter(({ npu }) => npu)
        .map(({ inputs }) => model.tensors[inputs[NPU_SCRATCH]]?.size ?? 0));
    // As trained, the arena has at least what the largest operator reads and writes.
    const sizes = model.operators.filter(({ name }) => !renaming.includes(name))
        .map(({ inputs, outputs }) => [...new Set([...inputs, ...outputs])]
            .map((index) => model.tensors[index])
            .reduce((sum, tensor) => sum + (tensor?.constant.length === 0 ? tensor.size : 0), 0));
    return {
        npu: model.call?.npu ?? null,
        cpu: [...new Set(model.operators.filter(({ npu }) => !npu).map(({ name }) => name))],
        scratch,
        arena: model.call ? scratch : Math.max(0, ...sizes),
        planned: 0,
        rejected: "",
        dtypes: [...model.inputs, ...model.outputs].map((index) => dtypes[model.tensors[index].type]),
        input_shapes: shapes(model.inputs),
        output_shapes: shapes(model.outputs),
    };
}

/**
 * @param {string} rules  text of ethosu_tools/check/rules.py
 * @param {string} program  text of runtimes.py
 * @returns {Promise<{runtime, verdict, takes, sentence}[]>} one for each runtime of settings.json
 */
export async function verdicts(module, settings, model, rules, program, signal) {
    const text = (content) => new TextEncoder().encode(content);
    const facts = JSON.stringify([factsOf(model, settings), settings.runtimes]);
    const files = new Map([["rules.py", text(rules)], ["facts.json", text(facts)]]);
    const rows = [];
    await runProgram(module, { npus: [], files, program, signal }, (row) => rows.push(row));
    return rows;
}
