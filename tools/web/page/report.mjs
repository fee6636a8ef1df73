// SPDX-License-Identifier: MIT
/** Layers and remarks from Vela's report, for the page. */

/** Rows of a table of Vela's database as objects. */
function rows(report, name) {
    const [header, ...lines] = report.tables[name] ?? [[]];
    return lines.map((line) => Object.fromEntries(header.map((key, i) => [key, line[i]])));
}

/** The code of custom operators, which are identified by name. */
const CUSTOM = 32;

/** Vela's warning that an operator stays on the CPU: its output, then the reason. */
const LEFT = /\nWarning \(supported operators\) operator: \w+, ofm: '(.*?)'\n((?:[^\n]+\n)*)/g;

/** Vela's reasons why operators stay on the CPU, by the names of their outputs. */
function reasons(report) {
    const matches = [...report.messages.matchAll(LEFT)];
    // Vela names the output of a fused activation after its operator.
    return new Map(matches.map(([, name, text]) => [name.replace(/_act$/, ""), reason(text)]));
}

function reason(text) {
    return text.replace(/^Reason: /, "").trim().replace("Unsupported opType", "Vela does not compile it for this NPU")
        .replace(/\n/g, "; ");
}

/** Vela's other messages about the model, one per line. */
export function remarks(report) {
    return report.messages.replace(LEFT, "").split("\n").filter((line) => line.trim());
}

/**
 * Layers of the original model in order, with Vela's estimate of each.
 *
 * @returns {{name, kind, cycles, macs, where, why}[]}  `where` is "NPU" or "CPU", `why` Vela's reason
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
    const why = reasons(report);
    const sources = rows(report, "source").slice(0, original.operators.length);
    return sources.map((source, i) => {
        const [name = ""] = outputsOf(original, original.operators[i]);
        const { cycles = 0, macs = 0 } = sums.get(Number(source.id)) ?? {};
        const kind = original.operators[i].code === CUSTOM ? original.operators[i].name : source.operator;
        const where = onCpu.has(name) && !cycles ? "CPU" : "NPU";
        return { name, kind, cycles, macs, where, why: why.get(name) };
    });
}

/** Clock of the NPU in MHz, from the configuration of a target. */
export function clockMhz(config, target) {
    const section = config.split(`[System_Config.${target.system_config}]`)[1] ?? "";
    const match = /^\s*core_clock\s*=\s*([\d.e+]+)/m.exec(section.split(/^\[/m)[0]);
    return match ? Number(match[1]) / 1e6 : null;
}
