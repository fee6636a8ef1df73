// SPDX-License-Identifier: MIT
/** Detects the kind of a dropped file from its name and first bytes. */

const CONVERT = "convert and quantise it on a PC: ethosu compile MODEL --calibrate SAMPLES.npz";
const EXPORT = "export and compile it on a PC: ethosu compile MODEL.py";

/** Models of other formats, by suffix. */
const OTHER_MODELS = [
    [/\.(keras|h5|hdf5)$/i, `is a Keras model; ${CONVERT}`],
    [/\.pb$/i, `is a TensorFlow graph; ${CONVERT}`],
    [/\.onnx$/i, `is an ONNX model; ${CONVERT}`],
    [/\.(pt|pth|pt2)$/i, `is a PyTorch model; ${EXPORT}`],
];

/** Other files that are often named .tflite: their first characters, and a remedy. */
const MISTAKEN = [
    [/^$/, "the file is empty"],
    [/^version https:\/\/git-lfs/, "it is a Git LFS pointer, not the model; fetch the model with: git lfs pull"],
    [/^\s*<(!doctype|html)/i, "it is a web page, not a model; download the raw file"],
    [/^PK\x03\x04/, "it is a ZIP archive, not a model; unpack it first"],
    [/^\x1f\x8b/, "it is compressed by gzip; unpack it first"],
    [/^\x89HDF/, `it ${OTHER_MODELS[0][1]}`],
    [/^....ET1\d/s, "it is an ExecuTorch program; name it .pte, drop it here and load it at the prompt"],
    [/^[\t\n\r -~]*$/, "it is text, not a TensorFlow Lite model"],
];

/**
 * @param {Uint8Array} bytes
 * @returns {boolean} true for a .tflite; false for a file that is only copied to /rom
 * @throws {Error} if it is meant to be a model, but is not a .tflite
 */
export function isModel(name, bytes) {
    const head = String.fromCharCode(...bytes.subarray(0, 64));
    if (head.slice(4, 8) === "TFL3") {
        return true;
    }
    const other = OTHER_MODELS.find(([names]) => names.test(name));
    if (other) {
        throw new Error(`this page accepts .tflite files, but it ${other[1]}`);
    }
    if (/\.tflite$/i.test(name)) {
        const mistaken = MISTAKEN.find(([pattern]) => pattern.test(head));
        throw new Error(mistaken?.[1] ?? "it is not a TensorFlow Lite model, or it is damaged: its identifier TFL3 is missing");
    }
    return false;
}
