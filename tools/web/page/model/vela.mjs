// SPDX-License-Identifier: MIT
/** Vela's compiler: one instance of vela.wasm for one model. Runs in a worker, and in node. */

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** System calls that the C++ library makes at start and exit. */
function system(view) {
    return {
        environ_sizes_get(count, size) {
            view().setUint32(count, 0, true);
            view().setUint32(size, 0, true);
            return 0;
        },
        environ_get: () => 0,
        proc_exit(code) {
            throw new Error(`Vela ended with exit code ${code}`);
        },
    };
}

/** The configuration of a target of settings.json. */
export function configuration(settings, target) {
    return target.head + settings.texts[target.text];
}

/**
 * Compile a model.
 *
 * @param {WebAssembly.Module} module
 * @param {Uint8Array} model  a .tflite
 * @param {object} target  of settings.json
 * @param {string} config  its configuration()
 * @returns {{model: Uint8Array, report: object}} the compiled model; Vela's figures, tables, messages.
 *   Throws an Error with Vela's message if it rejects the model.
 */
export function compile(module, model, target, config) {
    let exports;
    const view = () => new DataView(exports.memory.buffer);
    const instance = new WebAssembly.Instance(module, {
        wasi_snapshot_preview1: system(view),
        env: { emscripten_notify_memory_growth() {} },
    });
    exports = instance.exports;
    exports._initialize();

    function give(bytes) {
        const at = exports.vela_memory(bytes.length);
        if (at === 0) {
            throw new Error("there is not enough memory for this model");
        }
        new Uint8Array(exports.memory.buffer).set(bytes, at);
        return at;
    }
    function text(at) {
        const bytes = new Uint8Array(exports.memory.buffer, at);
        return decoder.decode(bytes.subarray(0, bytes.indexOf(0)));
    }
    const strings = [target.accelerator, config, target.options].map((string) => give(encoder.encode(string + "\0")));
    const done = exports.vela_compile(...strings, give(model), model.length);
    if (!done) {
        const message = text(exports.vela_message()).trim();
        throw new Error(message || "Vela rejected the model without a reason");
    }
    const start = exports.vela_output();
    return {
        model: new Uint8Array(exports.memory.buffer, start, exports.vela_output_size()).slice(),
        report: { ...JSON.parse(text(exports.vela_report())), messages: text(exports.vela_message()) },
    };
}
