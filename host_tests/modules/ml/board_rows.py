# SPDX-License-Identifier: MIT
"""What tests of the firmware, of the stubs and of the wheel do with the package."""

# Instructions of an import, at most.
IMPORTS = [
    ("import ml", 20_000),
    ("import ml; ml.Model", 105_000),
    ("import ml; ml.preprocessing; ml.utils", 145_000),
]
# Calls with a deep stack; {!r} is the path of a model.
SETUP = "import ml"
DEEP = {"ml.Model": "ml.Model({!r}, postprocess=ml.postprocessing.nms_of)"}
# A program with right types, its mistakes, and what mypy says of them.
TYPED = """\
import ml
from ml.postprocessing.edgeimpulse import Fomo

detector = ml.Model("fomo", postprocess=Fomo(threshold=0.4))
"""
MISTAKES = {
    "threshold=0.4": (
        *("threshold='0.4'", 'Argument "threshold" to "Fomo" has incompatible type "str"'),
    ),
}
