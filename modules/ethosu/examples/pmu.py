# SPDX-License-Identifier: MIT
"""Where the time goes: the NPU's own counters around an inference."""

import ethosu

PATH = "/rom/small_cnn.tflite"
index = ethosu.Model(PATH).npu  # of the NPU that it was compiled for: a board may have several

with ethosu.reserve(npu=index, powered=True) as npu:
    model = ethosu.Model(PATH, npu=npu)
    model.run_into()
    with npu.pmu(ethosu.PMU_NPU_ACTIVE, ethosu.PMU_MAC_ACTIVE, ethosu.PMU_WD_ACTIVE) as counters:
        model.run_into()
    active, mac, weights = counters
    print("cycles", counters.cycles, "active", active)
    print("MAC unit busy", 100 * mac // active, "%, weight decoder", 100 * weights // active, "%")
