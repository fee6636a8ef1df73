# SPDX-License-Identifier: MIT
"""Scripts in OpenMV's style, with and without ulab."""

import pytest

from host_tests.modules.ethosu.binding.tensor.test_ulab import MODEL


def test_openmv_script_runs(api, example):
    tensor, y = example[0].outputs[0], example[2]
    api.exec(
        "import ml\nmodel = ml.Model('/model.tflite')\n"
        "scale, zero_point = model.input_scale[0], model.input_zero_point[0]\n"
        "image = array('f', [(q - zero_point) * scale for q in x])\n"
        "scores = list(model.predict([image])[0])\n"
        "def best(model, inputs, outputs):\n"
        "    raw = outputs[0]\n"
        "    s, z = model.output_scale[0], model.output_zero_point[0]\n"
        "    return max((q - z) * s for q in raw)\n"
        "top = ml.Model('/model.tflite', postprocess=best).predict([image])\n"
    )
    expected = [(int(raw) - tensor.zero_point) * tensor.scale for raw in y.flat]
    assert api.eval("scores") == pytest.approx(expected)
    assert api.eval("top") == pytest.approx(max(expected))


def test_openmv_labels_and_callbacks(api):
    """Labels come from the file next to the model; callbacks get the model and its outputs."""
    api.write_file("/two.dots.tflite", api.read_file("/model.tflite"))
    api.write_file("/two.dots.txt", b"silence\nyes\r\nno")
    api.exec(
        "import ml\n"
        "def first(model, inputs, outputs): return model.labels[:2], bytes(outputs[0])\n"
        "model = ml.Model('/two.dots.tflite', first)\n"
        "other = ml.Model('/model.tflite', load_to_fb=True)\n"
    )
    assert api.eval("model.labels") == ["silence", "yes", "no"]
    assert api.eval("model.predict([x]) == (['silence', 'yes'], golden)")
    assert api.eval("other.labels") is None
    assert api.eval("other.predict([x], callback=lambda m, i, o: m is other)") is True
    api.exec("other.postprocess = lambda m, i, o: 5")
    assert api.eval("other.predict([x])") == 5
    assert api.eval("other.input_shape") == ((1, 16, 16, 3),)
    api.exec("with open('/model.tflite', 'rb') as file: data = file.read()")
    assert api.eval("ml.Model(data).labels") is None


@pytest.mark.slow
def test_callable_input_and_post_processor(ulab):
    """A script in OpenMV style: ulab arrays in, scores as an array."""
    ulab.exec(
        "def fill(memory, shape, dtype): memory[:] = x.tobytes()\n"
        "def best(model, inputs, outputs):\n"
        "    raw = np.array(outputs[0])\n"
        "    return np.argmax((raw - model.output_zero_point[0]) * model.output_scale[0])\n"
        "import ml\n"
        "wanted = max(range(10), key=lambda i: (golden[i] + 128) & 255)\n"
    )
    assert ulab.eval(f"ml.Model({MODEL!r}, best).predict([fill]) == wanted")


@pytest.mark.slow
def test_openmv_script(ulab):
    """As in OpenMV's scripts: labels with scores, the best of them, a post-processor."""
    ulab.exec(
        "import ml\n"
        f"net = ml.Model({MODEL!r}, load_to_fb=True)\nprint(net)\n"
        "image = (np.array(x) - net.input_zero_point[0]) * net.input_scale[0]\n"
        "labels = [str(i) for i in range(10)]\n"
        "scores = net.predict([image])[0].flatten().tolist()\n"
        "label, score = max(list(zip(labels, scores)), key=lambda pair: pair[1])\n"
        "def decode(model, inputs, outputs):\n"
        "    n, classes = model.output_shape[0]\n"
        "    row = np.array(outputs[0][0, :classes], dtype=np.float)\n"
        "    return (row - model.output_zero_point[0]) * model.output_scale[0]\n"
        "golden_values = array('b', golden)\ntop = max(golden_values)\n"
        "rows = ml.Model('/model.tflite', postprocess=decode).predict([image])"
    )
    assert ulab.eval("max(net.predict([image])[0][0]) == score")
    assert ulab.eval("max(abs(rows - np.array(scores))) < 1e-6")
    assert ulab.eval("scores.index(score) == int(label) == list(golden_values).index(top)")
    assert ulab.eval("(net.input_shape, net.output_dtype)") == (((1, 16, 16, 3),), ("b",))
