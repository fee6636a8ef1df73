// SPDX-License-Identifier: MIT
/** Draws the arena over time: time on the x axis, one column per operator; addresses on the y axis. */

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT, LEFT, TOP, BOTTOM] = [640, 260, 76, 10, 30];

/** Tensors of the main graph that have memory in the arena, with their lifetimes. */
export function blocks(model) {
    const last = model.operators.length + 1;
    const { fastScratch } = model;
    return model.tensors.flatMap(({ name, size, offset }, index) => {
        const times = model.operators.flatMap(({ inputs, outputs }, at) =>
            inputs.includes(index) || outputs.includes(index) ? [at + 1] : []);
        if (model.inputs.includes(index)) {
            times.push(0);
        }
        if (model.outputs.includes(index)) {
            times.push(last);
        }
        return offset < 0 || index === fastScratch || !size || !times.length
            ? []
            : [{ name, size, offset, first: Math.min(...times), last: Math.max(...times) }];
    });
}

function element(name, attributes, text = "") {
    const node = document.createElementNS(SVG, name);
    Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
    node.textContent = text;
    return node;
}

/** The picture; null if the model does not specify where tensors are. */
export function draw(model) {
    const tensors = blocks(model);
    if (!tensors.length) {
        return null;
    }
    const count = (number) => number.toLocaleString("en");
    const end = Math.max(...tensors.map(({ offset, size }) => offset + size));
    const columns = model.operators.length + 2;
    // The memory that the NPU may write during a call contains other tensors.
    const largest = model.call ? Math.max(...tensors.map(({ size }) => size)) : null;
    const x = (time) => LEFT + ((WIDTH - LEFT) * time) / columns;
    const y = (at) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - at / end);
    const words = `${tensors.length} tensors in ${count(end)} bytes, at ${columns} times`;
    const picture = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": words, class: "arena" });
    picture.append(element("rect", { class: "frame", x: LEFT, y: TOP, width: WIDTH - LEFT, height: HEIGHT - TOP - BOTTOM }));
    // Larger blocks first, so that smaller ones are drawn over them.
    for (const { name, size, offset, first, last } of tensors.sort((a, b) => b.size - a.size)) {
        const box = element("rect", {
            class: size === largest ? "block npu" : "block", x: x(first), y: y(offset + size), width: x(last + 1) - x(first),
            height: Math.max(3, y(offset) - y(offset + size)),
        });
        box.append(element("title", {}, `${name}: ${count(size)} bytes at ${count(offset)}, time ${first} to ${last}`));
        picture.append(box);
        if (y(offset) - y(offset + size) > 16 && x(last + 1) - x(first) > 8 * name.length) {
            picture.append(element("text", { class: "name", x: x(first) + 4, y: y(offset + size) + 13 }, name));
        }
    }
    for (const level of [0, end]) {
        picture.append(element("text", { x: LEFT - 6, y: y(level) + (level ? 10 : 0), "text-anchor": "end" }, count(level)));
    }
    picture.append(element("text", { x: LEFT, y: HEIGHT - 10 }, "inputs"));
    picture.append(element("text", { x: WIDTH, y: HEIGHT - 10, "text-anchor": "end" }, "outputs"));
    return picture;
}
