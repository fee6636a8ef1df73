# SPDX-License-Identifier: MIT
"""The numbers in CONTRIBUTING.md, "Places to touch", equal those that `changes` counts."""

import re

import pytest
from ethosu_tools.boards import targets

from .changes import CHANGES, REPO
from .test_places import ADDONS

SIM = REPO / "tools/npu_sim"
DRIVER = REPO / "modules/ethosu/driver"
KERNELS = REPO / "modules/ethosu/runtime/kernels"
CASES = REPO / "host_tests/modules/ethosu/runtime/kernels"
ROWS = dict(
    re.findall(r"^\| ([^|]+) \| (\d+)\b", (REPO / "CONTRIBUTING.md").read_text(), re.MULTILINE)
)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.name)
def test_a_change_needs_as_many_files_as_the_page_says(change):
    """Without an add-on, whose files are counted, it needs fewer."""
    whole = all((REPO / addon["folders"][0]).exists() for addon in ADDONS.values())
    says, needs = int(ROWS[change.name]), change.count()
    assert says == needs or (not whole and says > needs), change.files()


def test_each_operator_for_the_cpu_has_a_generator_of_cases():
    names = re.findall(r"^KERNEL\((\w+)", (KERNELS / "kernels.def").read_text(), re.MULTILINE)
    cases = "".join(path.read_text() for path in CASES.glob("cases*.py"))
    assert names and [name for name in names if f'"{name}"' not in cases] == []


def test_a_product_is_a_row_in_each_table():
    simulated = re.findall(
        r"^(U\d\d)\((\d+),", (SIM / "device/products.def").read_text(), re.MULTILINE
    )
    driven = re.findall(
        r"^ETHOSU_EXT_PRODUCT\((U\d\d), \d, (\d+),",
        (DRIVER / "device/ethosu_products.def").read_text(),
        re.MULTILINE,
    )
    compiled = [re.fullmatch(r"ethos-(u\d\d)-(\d+)", name).groups() for name in targets.NPUS]
    products = {(family, int(macs)) for family, macs in simulated}
    assert products == {(family, 1 << int(log2)) for family, log2 in driven}
    assert products == {(family.upper(), int(macs)) for family, macs in compiled}
