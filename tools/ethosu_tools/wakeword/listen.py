# SPDX-License-Identifier: MIT
"""Listen for a wake word: MicroPython, to run on the board.

    import ethosu
    from listen import listen

    model = ethosu.Model("/rom/okay_nabu.tflite")
    listen(model, "/rom/speech.f32", cutoff=0.85, window=5)

`speech.f32` holds rows of 40 float32 numbers, one row for each 10 ms of sound. The model takes a
few rows at a time, remembers what came before in its own variables, and answers with the
probability that the wake word just ended. It counts as heard when the mean of the last `window`
answers is above `cutoff`.
"""

from array import array

SECONDS_PER_ROW = 0.01


def listen(model, path, cutoff, window, say=print):
    """Feed the rows in the file `path` to `model`; say a line for each inference.

    Returns the second at which the wake word was heard, None if it was not.
    """
    _, rows, bands = model.input_shape[0]
    scale, zero_point = model.input_scale[0], model.input_zero_point[0]
    out_scale, out_zero_point = model.output_scale[0], model.output_zero_point[0]
    sound = array("f", bytes(4 * rows * bands))
    x = array("b", bytes(rows * bands))
    recent = []
    steps = 0
    detected = None
    with open(path, "rb") as file:
        while file.readinto(sound) == 4 * len(sound):
            for i, value in enumerate(sound):
                x[i] = min(127, max(-128, round(value / scale) + zero_point))
            y = model.predict([x])[0]
            recent.append((y[0] - out_zero_point) * out_scale)
            recent = recent[-window:]
            mean = sum(recent) / window if len(recent) == window else 0.0
            steps += 1
            now = steps * rows * SECONDS_PER_ROW
            say(f"{now:.2f} s  raw {y[0]:3d}  mean {mean:.3f}")
            if detected is None and mean > cutoff:
                detected = now
    say(f"detected at {detected:.2f} s" if detected else "not detected")
    return detected
