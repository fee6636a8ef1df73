// SPDX-License-Identifier: MIT
/** The terminal for the board's prompt. */
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";

const THEMES = {
    light: { background: "#ffffff", foreground: "#1b1f24", cursor: "#0a58ca", selectionBackground: "#b6d4fe" },
    dark: { background: "#0d1117", foreground: "#e6edf3", cursor: "#79b8ff", selectionBackground: "#264f78" },
};

/**
 * Let the keyboard leave the prompt, where Tab completes names: Shift-Tab goes back, Esc followed by
 * Tab goes forward.
 *
 * @returns {(event: KeyboardEvent) => boolean} false: the key is not for the board
 */
function leaving() {
    let escaped = false;
    return (event) => {
        if (event.type !== "keydown" || event.key === "Shift") {
            return true;
        }
        const leaves = event.key === "Tab" && (event.shiftKey || escaped);
        escaped = event.key === "Escape";
        return !leaves && !escaped;
    };
}

/** Control sequences with a count that xterm.js takes as often as it says: ECMA-48's edits, scrolls and tabs. */
const COUNTED = [
    ..."@ILMPSTXZ^b".split("").map((final) => ({ final })),
    ...["@", "A"].map((final) => ({ intermediates: " ", final })),
    ...["}", "~"].map((final) => ({ intermediates: "'", final })),
];

/** Ignore counts larger than the screen: a program's line could stop the page for good. */
function ignoreLargeCounts(terminal) {
    const isLarge = ([count]) => count > Math.max(terminal.rows, terminal.cols);
    for (const sequence of COUNTED) {
        terminal.parser.registerCsiHandler(sequence, isLarge);
    }
}

/** @returns {Terminal} in `parent`, fitted to its size */
export function makeTerminal(parent) {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const theme = () => (dark.matches ? THEMES.dark : THEMES.light);
    const terminal = new Terminal({ fontSize: 13, screenReaderMode: true, theme: theme(), scrollback: 5000, minimumContrastRatio: 4.5 });
    ignoreLargeCounts(terminal);
    const fit = new FitAddon();
    terminal.loadAddon(fit);
    terminal.open(parent);
    fit.fit();
    new ResizeObserver(() => fit.fit()).observe(parent);
    dark.addEventListener("change", () => (terminal.options.theme = theme()));
    terminal.attachCustomKeyEventHandler(leaving());
    terminal.textarea.setAttribute("aria-label", "Python prompt of the board; Esc and then Tab leaves it");
    return terminal;
}
