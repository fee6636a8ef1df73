// SPDX-License-Identifier: MIT
/** Asks the rules of the tools, which are in Python: a board of their own runs them, as a PC does. */
import { runProgram } from "../board/board_client.mjs";

/**
 * @param {Map<string, string>} texts  ask.py, and the files of rules
 * @param {[module: string, function: string, arguments: object[]][]} calls  with plain data
 * @returns {Promise<object[]>} the answer of each
 */
export async function ask(module, texts, calls, signal) {
    const { "ask.py": program, ...rules } = Object.fromEntries(texts);
    const files = Object.entries({ ...rules, "calls.json": JSON.stringify(calls) })
        .map(([name, text]) => [name, new TextEncoder().encode(text)]);
    const rows = [];
    await runProgram(module, { npus: [], files: new Map(files), program, signal }, (row) => rows.push(row));
    return rows;
}
