// SPDX-License-Identifier: MIT
/**
 * Vela as WebAssembly in node, for the tests:
 *
 *   node vela_node.mjs vela.wasm settings.json MODEL TARGET OUTPUT [TARGET OUTPUT]...
 *
 * TARGET is an index of the targets of settings.json.
 */
import fs from "node:fs";
import { compile, configuration } from "./vela.mjs";

const [wasm, file, path, ...pairs] = process.argv.slice(2);
const module = new WebAssembly.Module(fs.readFileSync(wasm));
const settings = JSON.parse(fs.readFileSync(file, "utf8"));
const model = fs.readFileSync(path);
for (let i = 0; i < pairs.length; i += 2) {
    const target = settings.targets[Number(pairs[i])];
    fs.writeFileSync(pairs[i + 1], compile(module, model, target, configuration(settings, target)).model);
}
