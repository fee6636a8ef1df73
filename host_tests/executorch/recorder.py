# SPDX-License-Identifier: MIT
"""A pytest plugin for ExecuTorch's Python: selects the tests of NPUs and records each verdict.

It imports nothing of this project, which that Python does not have.
"""

import contextlib
import json
import os
import re
from pathlib import Path

import pytest

LOG = Path(os.environ["ETHOSU_VERDICTS"])
PER_FUNCTION = int(os.environ.get("ETHOSU_PER_FUNCTION", "1"))

if os.environ.get("ETHOSU_UNTRAINED"):
    import torch

    torch.manual_seed(0)
    with contextlib.suppress(ImportError):
        from torchvision.models import WeightsEnum

        WeightsEnum.verify = classmethod(lambda cls, weights: None)
    with contextlib.suppress(ImportError):
        from timm.models import _builder

        _builder.load_pretrained = lambda *_, **__: None


def case_name(node):
    """Return a case's name without the folder of the installation."""
    return node[node.index("backends/arm/test") :] if "backends/arm/test" in node else node


def unconditional(item, mark):
    """Return marks that apply everywhere; others skip a test without the FVP."""
    return [m for m in item.iter_markers(mark) if "condition" not in m.kwargs and not m.args]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Put marked cases first, then each function's first ones; drop cases recorded before."""
    done = {json.loads(line)["case"] for line in LOG.read_text().splitlines()}
    ranked, seen = [], {}
    for item in items:
        name = item.originalname or item.name
        if not re.search("u55|u65|u85", name):
            continue
        rank = 0
        if not unconditional(item, "xfail"):
            function = item.nodeid.partition("[")[0]
            rank = seen[function] = seen.get(function, 0) + 1
        if rank <= PER_FUNCTION and case_name(item.nodeid) not in done:
            ranked.append((rank, len(ranked), item))
    items[:] = [item for _, _, item in sorted(ranked, key=lambda each: each[:2])]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Record the outcome of each case, with its marks and the error."""
    report = (yield).get_result()
    if report.when != "call" and not (report.when == "setup" and report.outcome != "passed"):
        return
    error = f"{call.excinfo.typename}: {str(call.excinfo.value)[:1500]}" if call.excinfo else ""
    marks = unconditional(item, "xfail")
    row = {
        "case": case_name(item.nodeid),
        "test": item.nodeid,
        "outcome": report.outcome,
        "wrong": [str(mark.kwargs.get("reason", "")) for mark in marks],
        "as_marked": getattr(report, "wasxfail", None) is not None,
        "error": error or str(report.longrepr or "")[:300],
    }
    with LOG.open("a") as log:
        log.write(json.dumps(row) + "\n")
