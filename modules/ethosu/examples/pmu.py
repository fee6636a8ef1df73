# SPDX-License-Identifier: MIT
"""Where the time goes: the NPU's own counters around an inference."""

import ethosu

with ethosu.reserve(powered=True) as npu:
    model = ethosu.Model("/rom/small_cnn.tflite", npu=npu)
    model.run_into()
    with npu.pmu(ethosu.PMU_NPU_ACTIVE, ethosu.PMU_MAC_ACTIVE, ethosu.PMU_WD_ACTIVE) as counters:
        model.run_into()
    active, mac, weights = counters
    print("cycles", counters.cycles, "active", active)
    print("MAC unit busy", 100 * mac // active, "%, weight decoder", 100 * weights // active, "%")
