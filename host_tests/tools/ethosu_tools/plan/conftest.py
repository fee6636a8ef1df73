# SPDX-License-Identifier: MIT
"""Models of mixed graphs, compiled and planned as `ethosu compile` does."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ethosu_tools import vela
from ethosu_tools.mixed_models import MODELS
from ethosu_tools.plan import plan_file

NPU = "ethos-u55-128"


@dataclass(frozen=True)
class Planned:
    """A model in its three forms, Vela's messages, and the plan."""

    source: Path
    compiled: Path
    planned: Path
    facts: dict[str, Any]
    plan: Any


@pytest.fixture(scope="session")
def mixed(tmp_path_factory):
    """The models of mixed_models, by name; each is compiled once: `mixed("svdf")`."""
    folder = tmp_path_factory.mktemp("mixed")
    done: dict[str, Planned] = {}

    def make(name: str) -> Planned:
        if name not in done:
            model = MODELS[name]
            source, compiled, planned = (
                folder / f"{name}{end}.tflite" for end in ("", "_vela", "_planned")
            )
            source.write_bytes(model.make())
            facts = vela.compile_model(source, NPU, compiled, more_options=model.options)
            done[name] = Planned(source, compiled, planned, facts, plan_file(compiled, planned))
        return done[name]

    return make
