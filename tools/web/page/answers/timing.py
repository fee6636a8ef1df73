# SPDX-License-Identifier: MIT
"""Cycles of one inference on a board whose NPU is timed with a system's memories."""

import json

import ethosu

with ethosu.reserve(powered=True) as npu:
    model = ethosu.Model("/rom/model", npu=npu)
    model.run_into()
    with npu.pmu(ethosu.PMU_NPU_ACTIVE) as counters:
        model.run_into()
print(json.dumps({"cycles": counters[0]}))
