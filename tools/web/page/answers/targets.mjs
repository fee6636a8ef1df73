// SPDX-License-Identifier: MIT
/** The selection of the target to compile for: an NPU or a board, and its memory mode. */

const element = (id) => document.getElementById(id);

export function option(text, value) {
    const node = document.createElement("option");
    node.textContent = text;
    node.value = value;
    return node;
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

    /** The targets of an NPU and board; without an NPU, of the board's first one. */
    of(npu, board) {
        const all = this.all.filter((each) => each.board === board);
        return all.filter((each) => each.npu === (npu ?? all[0].npu));
    }

    fillModes() {
        const { npu, board } = this.all[Number(element("target").value)];
        element("mode").replaceChildren(...this.of(npu, board).map((each) => option(each.memory_mode, each.index)));
    }

    /** Choose a target; without a mode, the standard one. Throws an Error if it does not exist. */
    choose(npu, board = null, mode = null) {
        const targets = this.of(npu, board);
        const standard = targets.find((each) => each.standard);
        const chosen = mode === null ? standard : targets.find((each) => each.memory_mode === mode);
        if (!standard || !chosen) {
            const [what, known] = standard
                ? [`memory mode ${mode} of ${npu ?? board}`, targets.map((each) => each.memory_mode)]
                : [[board && `board ${board}`, npu && `NPU ${npu}`].filter(Boolean).join(" with "), this.all.map((each) => (npu ? each.npu : each.board))];
            throw new Error(`The link asks for ${what}, which this page does not have. It has ${[...new Set(known)].filter(Boolean).join(", ")}.`);
        }
        element("target").value = standard.index;
        this.fillModes();
        element("mode").value = chosen.index;
    }
}
