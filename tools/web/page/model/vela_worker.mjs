// SPDX-License-Identifier: MIT
/** The worker that compiles one model. */
import { compile, configuration } from "./vela.mjs";

addEventListener("message", ({ data: { module, model, settings, target } }) => {
    const start = performance.now();
    try {
        const result = compile(module, model, target, configuration(settings, target));
        postMessage({ ...result, ms: performance.now() - start });
    } catch (error) {
        postMessage({ error: error instanceof WebAssembly.RuntimeError ? `Vela crashed (${error.message})` : error.message });
    }
});
