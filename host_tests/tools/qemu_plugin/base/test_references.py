# SPDX-License-Identifier: MIT
"""The plugin releases references that QEMU hands over in the function that got them.

QEMU's own headers say for each function whether its result is the caller's (include/exec/memory.h,
include/qom/object.h, include/hw/qdev-core.h). No test at run time shows a reference that is kept.
"""

import re
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[4] / "tools/qemu_plugin"
# Functions whose result the caller owns, and the function that releases it.
OWNED = {
    "memory_region_find": "memory_region_unref",
    "object_property_get_str": "g_free",
    "qdev_new": "sysbus_realize_and_unref",
    "qmp_query_version": "qapi_free_VersionInfo",
}
# Functions whose results others own, or that are kept for ever.
BORROWED = {
    "get_system_memory", "host_memory_backend_get_memory", "memory_region_get_ram_ptr",
    "object_property_get_link", "object_resolve_path_component", "object_resolve_path_type",
    "qdev_get_gpio_in_named", "qdev_get_machine", "qemu_get_aio_context", "qemu_get_cpu",
    "qemu_ram_block_by_name", "qemu_ram_get_host_addr", "sysbus_mmio_get_region", "serial_hd",
    "object_get_class", "object_get_typename", "clock_new", "serial_mm_init", "qemu_allocate_irq",
    "qemu_plugin_tb_get_insn", "qemu_plugin_scoreboard_new", "g_byte_array_new",
    "g_byte_array_set_size",
}  # fmt: skip


def test_it_is_known_who_owns_each_result() -> None:
    rows = re.findall(r"X\(([\w ]+[*\w]), (\w+),", (SOURCES / "base/qemu_api.h").read_text())
    assert len(rows) > 80
    values = {"void", "bool", "int", "size_t", "int64_t", "uint32_t", "uint64_t", "qemu_plugin_u64"}
    objects = {name for result, name in rows if result not in {*values, "result"}}
    assert objects == OWNED.keys() | BORROWED
    assert set(OWNED.values()) <= {name for _, name in rows}


def test_what_is_owned_is_given_back() -> None:
    asked = 0
    for source in SOURCES.rglob("*.c"):
        for function in source.read_text().split("\n}\n"):
            for ask, give_back in OWNED.items():
                calls = len(re.findall(rf"\b{ask}\(", function))
                asked += calls
                assert function.count(f"{give_back}(") >= calls, (source.name, ask, function)
    assert asked >= len(OWNED)
