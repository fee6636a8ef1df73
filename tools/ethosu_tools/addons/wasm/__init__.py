# SPDX-License-Identifier: MIT
"""The simulator's library as WebAssembly, for systems that our native library is not built for."""

OFFERS = {
    "simulator": {"sim_wasm/ethosu_sim.wasm": "library:Library"},
    "files of the wheel for any system": {"wasm": "build/sim_wasm/e*.[jw]*"},
}
