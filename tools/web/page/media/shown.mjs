// SPDX-License-Identifier: MIT
/** Shows the data that a program on the board passes to browser.show(). */
import { HEIGHT, WIDTH } from "./feeds.mjs";

const KEPT = 300;
const COLORS = ["#c2410c", "#0a58ca", "#116329", "#7c3aed"];

const element = (id) => document.getElementById(id);
let levels = [];

/** Remove everything that was shown. */
export function clear() {
    levels = [];
    for (const id of ["message", "scores"]) {
        element(id).replaceChildren();
    }
    element("level").hidden = element("boxes").hidden = true;
}

/** Draw a level over time; the last value is also shown as text, for screen readers. */
function level({ level: value, limit, at }) {
    levels = [...levels, value].slice(-KEPT);
    const path = levels.map((each, i) => `${(i * 600) / KEPT},${100 - 100 * each}`).join(" ");
    element("level").hidden = false;
    element("level-line").setAttribute("points", path);
    const height = 100 - 100 * limit;
    element("level-limit").setAttribute("d", `M0 ${height}H600`);
    element("level-text").textContent = `${value.toFixed(3)} at ${at.toFixed(2)} s; the limit is ${limit}`;
}

function scores(rows) {
    const items = rows.map(([label, score]) => {
        const item = document.createElement("li");
        item.textContent = `${label}: ${Number(score).toFixed(3)}`;
        return item;
    });
    element("scores").replaceChildren(...items);
}

/** Boxes over the picture, [label, score, x, y, width, height]. */
function boxes(rows) {
    const canvas = element("boxes");
    const context = canvas.getContext("2d");
    const labels = [...new Set(rows.map(([label]) => label))].sort();
    canvas.hidden = false;
    context.clearRect(0, 0, WIDTH, HEIGHT);
    context.lineWidth = 2;
    context.font = "12px sans-serif";
    for (const [label, , x, y, width, height] of rows) {
        context.strokeStyle = context.fillStyle = COLORS[labels.indexOf(label) % COLORS.length];
        context.strokeRect(x, y, width, height);
        context.fillRect(x, y, context.measureText(label).width + 6, 16);
        context.fillStyle = "white";
        context.fillText(label, x + 3, y + 12);
    }
    scores(rows);
}

const KINDS = { level, say: ({ say }) => (element("message").textContent = say), scores: (value) => scores(value.scores), boxes: (value) => boxes(value.boxes) };

/** Show the argument of browser.show(). Throws an Error if it is not supported. */
export function show(text) {
    let value;
    try {
        value = JSON.parse(text);
    } catch {
        throw new Error(`browser.show() expects JSON, found ${text.slice(0, 80)}`);
    }
    const kind = Object.keys(KINDS).find((name) => value?.[name] !== undefined);
    if (!kind) {
        throw new Error(`browser.show() expects ${Object.keys(KINDS).join(", ")}; found ${text.slice(0, 80)}`);
    }
    try {
        KINDS[kind](value);
    } catch (error) {
        throw new Error(`browser.show() cannot show ${text.slice(0, 80)}: ${error.message}`);
    }
}
