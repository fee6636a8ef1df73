# SPDX-License-Identifier: MIT
"""PyTorch models, exported by ExecuTorch."""

OFFERS = {"exporter": {".pt2": "export", ".py": "export"}, "doctor": {"executorch": "doctor"}}
