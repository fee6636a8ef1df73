// SPDX-License-Identifier: MIT
/** What other runtimes do with a model: the rules of `ethosu check`, run by a board of their own. */

/** The facts of a model that decide, as ethosu_tools/answers/traits.py has them. */
function factsOf(model, dtypes) {
    const shapes = (ends) => ends.map((index) => model.tensors[index].shape);
    return {
        npu: model.call?.npu ?? null,
        cpu: [...new Set(model.operators.filter(({ npu }) => !npu).map(({ name }) => name))],
        planned: 0,
        rejected: "",
        dtypes: [...model.inputs, ...model.outputs].map((index) => dtypes[model.tensors[index].type]),
        input_shapes: shapes(model.inputs),
        output_shapes: shapes(model.outputs),
    };
}

/**
 * @param {(calls: object[]) => Promise<object[]>} ask  ethosu_tools/answers/rules.py
 * @param {object} settings  settings.json, with names of types, and of operators that may work in place
 * @returns {Promise<{runtime, verdict, takes, sentence}[]>} one for each runtime of settings.json
 */
export async function verdicts(ask, { dtypes, renaming, runtimes }, model) {
    const tensors = model.tensors.map(({ size, constant }) => [size, constant.length > 0]);
    const operators = model.operators.map(({ name, npu, inputs, outputs }) => [name, Boolean(npu), inputs, outputs]);
    const [found] = await ask([["rules", "answers", [factsOf(model, dtypes), [tensors, operators, renaming], runtimes]]]);
    return found;
}
