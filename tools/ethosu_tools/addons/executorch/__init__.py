# SPDX-License-Identifier: MIT
"""PyTorch models, exported by ExecuTorch."""

_HELP = """\
A PyTorch model is quantised by ExecuTorch and exported as NAME.pte. Install ExecuTorch once with
`ethosu doctor --install executorch`, or pass a Python that has it with --python. MODEL is a file
written by torch.export.save() (.pt2) or a Python file (.py), which is run. That defines `model` and
`inputs`, a tuple of example tensors. It may also define `calibration`, a list of such tuples
(default: the example only), and `constants`, a dict of values for Model.constants, such as labels.
By default, images are exported channels last, and inputs and outputs are int8. The program then
runs the first samples, in order, on the simulator: if an output is below 10 dB of PyTorch's, the
exit code is 6 and nothing is written.

    ethosu compile kws.py --npu ethos-u55-128
"""

OFFERS = {
    "export": {"executorch": _HELP},
    "kit": {"executorch": "doctor:KIT"},
    "exporter": {".pt2": "export", ".py": "export"},
    "doctor": {"executorch": "doctor"},
}
