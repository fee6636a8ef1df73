// SPDX-License-Identifier: MIT
/** What other runtimes do with a model: the rules of `ethosu check`, run by a board of their own. */
import { NPU_SCRATCH } from "./model.mjs";

/**
 * The facts of a model that decide, as ethosu_tools/answers/traits.py has them.
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
    // The variables of a streaming model, each found by its handle.
    const variables = new Map(model.operators.filter(({ name }) => name === "READ_VARIABLE")
        .map(({ inputs, outputs }) => [inputs[0], model.tensors[outputs[0]].size]));
    const state = [...variables.values()].reduce((sum, size) => sum + size, 0);
    return {
        npu: model.call?.npu ?? null,
        cpu: [...new Set(model.operators.filter(({ npu }) => !npu).map(({ name }) => name))],
        scratch,
        state,
        arena: (model.call ? scratch : Math.max(0, ...sizes)) + state,
        planned: 0,
        rejected: "",
        dtypes: [...model.inputs, ...model.outputs].map((index) => dtypes[model.tensors[index].type]),
        input_shapes: shapes(model.inputs),
        output_shapes: shapes(model.outputs),
    };
}

/**
 * @param {(calls: object[]) => Promise<object[]>} ask  ethosu_tools/answers/rules.py
 * @returns {Promise<{runtime, verdict, takes, sentence}[]>} one for each runtime of settings.json
 */
export function verdicts(ask, settings, model) {
    const facts = factsOf(model, settings);
    return ask(settings.runtimes.map((runtime) => ["rules", "answer", [facts, runtime]]));
}
