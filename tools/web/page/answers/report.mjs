// SPDX-License-Identifier: MIT
/** Layers and remarks from Vela's report, for the page. */

/** Rows of a table of Vela's database as objects. */
function rows(report, name) {
    const [header, ...lines] = report.tables[name] ?? [[]];
    return lines.map((line) => Object.fromEntries(header.map((key, i) => [key, line[i]])));
}

/** The code of custom operators, which are identified by name. */
const CUSTOM = 32;

/**
 * What the CPU computes, and Vela's other remarks, by ethosu_tools/compile/remarks.py.
 *
 * @param {(calls: object[]) => Promise<object[]>} ask  the rules
 * @param {string[]} aside  operators that compute nothing
 * @returns {Promise<{left: [operator, output, reason, rule][], others: string[]}>}
 */
export async function remarks(ask, report, original, compiled, aside) {
    const names = original.tensors.map(({ name }) => name);
    const operators = compiled.operators.map(({ name, npu, outputs }) => [name, compiled.tensors[outputs[0]]?.name ?? "", Boolean(npu)]);
    const [found] = await ask([["remarks", "left", [report.messages, names, operators, aside]]]);
    return found;
}

/**
 * Layers of the original model in order, with Vela's estimate of each.
 *
 * @returns {{name, kind, cycles, macs, where}[]}  `where` is "NPU" or "CPU"
 */
export function layers(report, original, compiled) {
    const sums = new Map();
    for (const row of rows(report, "perf")) {
        const sum = sums.get(Number(row.source_id)) ?? { cycles: 0, macs: 0 };
        sum.cycles += Number(row.op_cycles);
        sum.macs += Number(row.mac_count);
        sums.set(Number(row.source_id), sum);
    }
    const outputsOf = (model, operator) => operator.outputs.map((index) => model.tensors[index]?.name);
    const onCpu = new Set(
        compiled.operators
            .filter((operator) => !operator.npu)
            .flatMap((operator) => outputsOf(compiled, operator)),
    );
    const sources = rows(report, "source").slice(0, original.operators.length);
    return sources.map((source, i) => {
        const [name = ""] = outputsOf(original, original.operators[i]);
        const { cycles = 0, macs = 0 } = sums.get(Number(source.id)) ?? {};
        const kind = original.operators[i].code === CUSTOM ? original.operators[i].name : source.operator;
        const where = onCpu.has(name) && !cycles ? "CPU" : "NPU";
        return { name, kind, cycles, macs, where };
    });
}

/** Clock of the NPU in MHz, from the configuration of a target. */
export function clockMhz(config, target) {
    const section = config.split(`[System_Config.${target.system_config}]`)[1] ?? "";
    const match = /^\s*core_clock\s*=\s*([\d.e+]+)/m.exec(section.split(/^\[/m)[0]);
    return match ? Number(match[1]) / 1e6 : null;
}
