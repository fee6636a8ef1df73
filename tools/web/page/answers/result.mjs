// SPDX-License-Identifier: MIT
/** Shows the results of a model on the page. */

const DTYPES = { b: "int8", B: "uint8", h: "int16", H: "uint16", i: "int32", q: "int64", f: "float32", "?": "bool" };
const ITEM_SIZES = { b: 1, B: 1, h: 2, H: 2, i: 4, q: 8, f: 4, "?": 1 };

const element = (id) => document.getElementById(id);
const count = (number) => Math.round(number).toLocaleString("en");

export function status(text, kind = "") {
    element("status").textContent = text;
    element("status").className = kind;
}

export function step(text, kind = "") {
    const item = document.createElement("li");
    item.textContent = text;
    item.className = kind;
    element("steps").append(item);
}

/** Add rows to a table. */
function rows(table, lines) {
    const added = lines.map((cells) => {
        const row = document.createElement("tr");
        cells.forEach((text) => {
            const cell = row.insertCell();
            cell.textContent = text;
            cell.className = /^(≥ )?[\d,.]+( %)?$/.test(text) ? "number" : "";
        });
        return row;
    });
    element(table).tBodies[0].append(...added);
}

export function showFigures(rows) {
    const parts = rows.flatMap(([name, value]) => {
        const [term, text] = [document.createElement("dt"), document.createElement("dd")];
        term.textContent = name;
        text.textContent = value;
        return [term, text];
    });
    element("figures").append(...parts);
}

export function showLayers(layers) {
    const total = layers.reduce((sum, layer) => sum + layer.cycles, 0) || 1;
    rows("layers", layers.map((layer) => [layer.name, layer.kind, layer.where, count(layer.cycles), count(layer.macs),
        `${((100 * layer.cycles) / total).toFixed(1)} %`]));
}

/** A board's usual latency in ms, as text; empty if it was not counted. */
function timeOf(board) {
    return element("latency").querySelector(`tr[data-usual="${board}"]`)?.cells[1].textContent ?? "";
}

export function showLatency({ system, usual, cycles, ms, low_ms: low, high_ms: high, basis }) {
    const time = high === null ? `≥ ${low.toPrecision(3)}` : ms.toPrecision(3);
    const between = high === null ? "" : `${low.toPrecision(3)} to ${high.toPrecision(3)} ms, `;
    rows("latency", [[system.title, time, system.weights, count(system.clock_hz / 1e6), `${between}${basis}`]]);
    Object.assign(element("latency").tBodies[0].lastChild.dataset, { cycles, system: system.name, ...(usual && { usual: system.name }) });
    const row = element("boards").querySelector(`tr[data-board="${system.name}"][data-status="runs"]`);
    if (row && usual) {
        Object.assign(row.cells[2], { textContent: time, className: "number" });
    }
}

/** Show which boards can run the model, instead of what was shown before. */
export function showBoards(need, boards, reserve) {
    const of = (wanted) => boards.filter(({ status }) => status === wanted).length;
    const others = of("other NPU") ? `; ${of("other NPU")} have another NPU, for which it is not compiled` : "";
    element("fits").textContent = `It runs on ${of("runs") || "none"} of ${boards.length} boards${others}. It needs ${need.npu ?? "no NPU"}, ${count(need.heap)} bytes of heap and ${count(need.image)} bytes of /rom.`;
    element("fits").className = of("runs") ? "" : "bad";
    element("boards").tBodies[0].replaceChildren();
    rows("boards", boards.map(({ board, status, text }) => [board, text, status === "runs" ? timeOf(board) : ""]));
    boards.forEach(({ board, status, lacks }, at) =>
        Object.assign(element("boards").tBodies[0].rows[at].dataset, { board, status, reserve, lacks: JSON.stringify(lacks) }));
}

/** Show what other runtimes do with it. */
export function showRuntimes(verdicts) {
    const items = verdicts.map(({ runtime, verdict, takes, sentence }) => {
        const [item, strong] = [document.createElement("li"), document.createElement("strong")];
        strong.textContent = `${runtime} ${verdict}`;
        strong.className = takes ? "good" : "";
        item.append(strong, sentence.slice(strong.textContent.length));
        return item;
    });
    element("runtimes").replaceChildren(...items);
    element("of-runtimes").hidden = false;
}

export function offer(name, bytes) {
    const link = element("download");
    URL.revokeObjectURL(link.href);
    link.href = URL.createObjectURL(new Blob([bytes]));
    link.download = name;
}

/** A program for a board with this model in its /rom; `inputs`: name, type code and shape of each. */
export function showCode(name, inputs) {
    const buffers = inputs.map(([, kind, shape]) => `bytearray(${shape.reduce((a, b) => a * b, 1) * ITEM_SIZES[kind]})`);
    element("code").textContent = [
        "import ethosu",
        `model = ethosu.Model("/rom/${name}")`,
        `inputs = [${buffers.join(", ")}]  # raw values: ${describe(inputs)}`,
        "outputs = model.predict(inputs)",
    ].join("\n");
}

/** "input: int8, 1 × 16 × 16 × 3". */
export function describe(tensors) {
    return tensors.map(([name, kind, shape]) => `${name}: ${DTYPES[kind] ?? kind}, ${shape.join(" × ") || "one value"}`).join("; ");
}

/** Show the comparison with the CPU kernels, and that it runs. */
export function showVerdict(run, missing) {
    const time = run.us == null ? "" : `; one inference took ${Number((run.us / 1000).toPrecision(2))} ms here`;
    if (run.wrong > 0) {
        status(`It runs, but ${count(run.wrong)} of ${count(run.bytes)} bytes differ from the CPU kernels.`, "bad");
    } else {
        status(run.bytes > 0 ? "It runs, and every bit equals the CPU kernels." : "It runs.", run.bytes > 0 ? "good" : "unsure");
    }
    element("exact").textContent = run.bytes > 0
        ? `Compared: ${run.steps} random inputs, ${count(run.bytes)} bytes of output, with the runtime's CPU kernels on the model before Vela${time}.`
        : `It was not compared with CPU kernels: ${missing}${time}.`;
}
