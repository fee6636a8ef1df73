# SPDX-License-Identifier: MIT
"""Names and arguments of `ml` are OpenMV's, with the same defaults.

EXPECTED lists them, from OpenMV's scripts/libraries/ml at cbbb877e. With OPENMV_DIR set they are
also compared with its sources.
"""

import ast
import os
from pathlib import Path

import pytest

from host_tests.kit import needs

DETECTOR = "threshold=0.6, nms_threshold=0.1, nms_sigma=0.1"
WITH_ANCHORS = "threshold=0.6, anchors=None, nms_threshold=0.1, nms_sigma=0.1"
POSTPROCESSING = "postprocessing/"
EXPECTED = {
    "apps": {
        "MicroSpeech": "preprocessor=None, micro_speech=None, labels=None, **kwargs",
        "MicroSpeech.audio_callback": "buf",
        "MicroSpeech.start_audio_streaming": "",
        "MicroSpeech.stop_audio_streaming": "",
        "MicroSpeech.listen": "timeout=0, callback=None, threshold=0.65, filter=('Yes', 'No')",
    },
    "preprocessing": {
        "Normalization": "scale=(0.0, 1.0), mean=(0.0, 0.0, 0.0), stdev=(1.0, 1.0, 1.0), roi=None",
        "Normalization.__call__": "*args",
    },
    "utils": {
        "logit": "x",
        "sigmoid": "x",
        "threshold": "scores, threshold, scale, find_max=False, find_max_axis=1",
        "quantize": "model, value, index=0",
        "dequantize": "model, value, index=0",
        "NMS": "window_w, window_h, roi",
        "NMS.add_bounding_box": "xmin, ymin, xmax, ymax, score, label_index, keypoints=None",
        "NMS.get_bounding_boxes": "threshold=0.1, sigma=0.1",
        "draw_predictions": "image, boxes, labels, colors, scores=None, format='pascal_voc', "
        "font_width=8, font_height=10, text_color=(255, 255, 255)",
        "draw_keypoints": "image, keypoints, radius=4, color=(255, 0, 0), thickness=1, fill=False",
        "draw_skeleton": "image, keypoints, lines, kp_radius=4, kp_color=(255, 0, 0), "
        "kp_thickness=1, kp_fill=False, line_color=(0, 255, 0), line_thickness=1",
    },
    POSTPROCESSING + "darknet": {"YoloV2": WITH_ANCHORS, "YoloLC": WITH_ANCHORS},
    POSTPROCESSING + "edgeimpulse": {
        "Fomo": "threshold=0.4, w_scale=1.414214, h_scale=1.414214, nms_threshold=0.1, "
        "nms_sigma=0.001"
    },
    POSTPROCESSING + "mediapipe": {
        "mediapipe_detection_postprocess": "threshold=0.6, anchors=None, anchor_grid=None, "
        "scores=(), cords=(), nms_threshold=0.1, nms_sigma=0.1",
        "BlazeFace": WITH_ANCHORS,
        "BlazePalm": WITH_ANCHORS,
        "HandLandmarks": DETECTOR,
        "FaceLandmarks": DETECTOR,
        "MoveNet": DETECTOR,
    },
    POSTPROCESSING + "ultralytics": {"YoloV5": DETECTOR, "YoloV8": DETECTOR},
}
# Defaults computed by a class; in OpenMV's they are computed if the argument is None.
ANCHORS = {
    "YoloV2": [
        (0.9883, 3.3606), (2.1194, 5.3759), (3.052, 9.1336), (5.5517, 9.3066), (9.726, 11.1422),
    ],
    "YoloLC": [
        (0.076023, 0.258508), (0.163031, 0.413531), (0.234769, 0.702585), (0.427054, 0.715892),
        (0.748154, 0.857092),
    ],
}  # fmt: skip


class Plain(ast.NodeTransformer):
    """Convert lists to tuples and drop types: OpenMV's default is a list, this project's is not."""

    def visit_List(self, node):
        return ast.Tuple(node.elts, ast.Load())

    def visit_arg(self, node):
        return ast.arg(node.arg)


def arguments(function):
    plain = Plain().visit(function.args)
    if plain.args and plain.args[0].arg == "self":
        plain.args.pop(0)
    return ast.unparse(plain)


def signatures(path):
    """Return each function's and method's signature; a class has its constructor's."""
    found, classes = {}, {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = arguments(node)
        elif isinstance(node, ast.ClassDef):
            classes[node.name] = node
            parents = [found.get(base.id) for base in node.bases if isinstance(base, ast.Name)]
            found[node.name] = next(iter(parents), "")
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    name = "" if method.name == "__init__" else f".{method.name}"
                    found[node.name + name] = arguments(method)
    return found


def expected_of(path):
    """Return the facts about a module, with defaults as formatted by ast."""
    for name, text in EXPECTED[path].items():
        yield name, arguments(ast.parse(f"def f({text}): pass").body[0])


@pytest.mark.parametrize("path", EXPECTED)
def test_signatures(repo, path):
    found = signatures(repo / f"modules/ml/ml/{path}.py")
    assert {name: found.get(name) for name in EXPECTED[path]} == dict(expected_of(path))


@pytest.mark.parametrize("name", ANCHORS)
def test_anchors(repo, name):
    tree = ast.parse((repo / "modules/ml/ml/postprocessing/darknet.py").read_text())
    assigned = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
    }
    assert list(assigned[f"_{name[4:]}_ANCHORS"]) == ANCHORS[name]


@pytest.fixture(scope="module")
def openmv():
    if "OPENMV_DIR" not in os.environ:
        needs.missing("FACTS NOT COMPARED WITH OPENMV: set OPENMV_DIR to a checkout of its tree")
    return Path(os.environ["OPENMV_DIR"]) / "scripts/libraries/ml"


@pytest.mark.slow
@pytest.mark.parametrize("path", EXPECTED)
def test_the_facts_are_those_of_openmv(openmv, path):
    (source,) = openmv.glob(f"*/ml/{path}.py")
    found = signatures(source)
    assert {name: found.get(name) for name in EXPECTED[path]} == dict(expected_of(path))
    public = {name for name in found if "_" not in (name[0], name.split(".")[-1][0])}
    hidden = {"mediapipe_detection_postprocess.detection_post_process"}
    assert public - hidden <= set(EXPECTED[path])


@pytest.mark.slow
def test_the_anchors_are_those_of_openmv(openmv):
    tree = ast.parse((openmv / "ml-darknet/ml/postprocessing/darknet.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            (anchors,) = (
                ast.literal_eval(call.args[0])
                for call in ast.walk(node)
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "np.array"
            )
            assert [tuple(pair) for pair in anchors] == ANCHORS[node.name]
