// SPDX-License-Identifier: MIT
/** The choice of what to compile for: an NPU or a board, and its memory mode. */

const element = (id) => document.getElementById(id);

export function option(text, value) {
    const made = document.createElement("option");
    made.textContent = text;
    made.value = value;
    return made;
}

export class Targets {
    /** @param {object[]} all  `targets` of settings.json */
    constructor(all, npu) {
        this.all = all.map((each, index) => ({ ...each, index }));
        const groups = { "An NPU": [], "A board": [] };
        for (const each of this.all.filter(({ standard }) => standard)) {
            groups[each.board ? "A board" : "An NPU"].push(option(each.board ? `${each.board}, ${each.npu}` : each.npu, each.index));
        }
        for (const [label, options] of Object.entries(groups)) {
            const group = document.createElement("optgroup");
            group.label = label;
            group.append(...options);
            element("target").append(group);
        }
        this.choose(npu);
    }

    get chosen() {
        return this.all[Number(element("mode").value)];
    }

    /** Those of an NPU and board; no NPU: of the board's first one. */
    of(npu, board) {
        const its = this.all.filter((each) => each.board === board);
        return its.filter((each) => each.npu === (npu ?? its[0].npu));
    }

    fillModes() {
        const { npu, board } = this.all[Number(element("target").value)];
        element("mode").replaceChildren(...this.of(npu, board).map((each) => option(each.memory_mode, each.index)));
    }

    /** Choose; no mode: the standard one. Throws a sentence for what the page does not have. */
    choose(npu, board = null, mode = null) {
        const found = this.of(npu, board);
        const standard = found.find((each) => each.standard);
        const wanted = mode === null ? standard : found.find((each) => each.memory_mode === mode);
        if (!standard || !wanted) {
            const [what, known] = standard
                ? [`memory mode ${mode} of ${npu ?? board}`, found.map((each) => each.memory_mode)]
                : [[board && `board ${board}`, npu && `NPU ${npu}`].filter(Boolean).join(" with "), this.all.map((each) => (npu ? each.npu : each.board))];
            throw new Error(`The link asks for ${what}, which this page does not have. It has ${[...new Set(known)].filter(Boolean).join(", ")}.`);
        }
        element("target").value = standard.index;
        this.fillModes();
        element("mode").value = wanted.index;
    }
}
