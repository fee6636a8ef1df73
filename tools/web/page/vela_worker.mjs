// SPDX-License-Identifier: MIT
/** The worker that compiles one model. */
import { compile, configuration } from "./vela.mjs";

addEventListener("message", ({ data: { module, model, settings, target } }) => {
    const start = performance.now();
    try {
        const made = compile(module, model, target, configuration(settings, target));
        postMessage({ ...made, ms: performance.now() - start });
    } catch (error) {
        postMessage({ refused: error instanceof WebAssembly.RuntimeError ? `Vela crashed (${error.message})` : error.message });
    }
});
