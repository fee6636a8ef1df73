// SPDX-License-Identifier: MIT
/** Detects the kind of a dropped file from its name and bytes, with the table of ethosu_tools/model/formats.py. */
import kinds from "kinds.json"; // by install_page.py

function kindOf(name, text) {
    const suffix = /\.[^.]*$/.exec(name.toLowerCase())?.[0] ?? "";
    return kinds.find(({ begins, has = [], suffixes = [suffix] }) =>
        new RegExp(`^(?:${begins})`).test(text) && has.every((part) => text.includes(part)) && suffixes.includes(suffix));
}

/**
 * @param {Uint8Array} bytes
 * @returns {boolean} true for a .tflite; false for a file that is only copied to /rom
 * @throws {Error} if it is meant to be a model, but is not a .tflite
 */
export function isModel(name, bytes) {
    const text = new TextDecoder("latin1").decode(bytes);
    const mark = text.slice(4, 8);
    if (mark === "TFL3") {
        return true;
    }
    const named = /\.tflite$/i.test(name);
    if (named && /^ET1/.test(mark)) {
        throw new Error("it is an ExecuTorch program; name it .pte, drop it here and load it at the prompt");
    }
    const kind = kindOf(name, text);
    if (kind?.title && (named || kind.model)) {
        throw new Error(`it is ${kind.title}: ${kind.remedy.replaceAll("{path}", name)}`);
    }
    if (named || /\.(keras|h5|onnx)$/i.test(name)) {
        throw new Error("it is not a TensorFlow Lite model, or it is damaged: its identifier TFL3 is missing");
    }
    return false;
}
