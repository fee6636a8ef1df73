# SPDX-License-Identifier: MIT
"""Tests errors of `ethosu linux`; host_tests/linux boots."""

import pytest
from ethosu_tools.addons.linux import virt
from ethosu_tools.base.errors import InputError

KERNEL = bytes(56) + b"ARM\x64" + bytes(100)


@pytest.fixture
def kernel(tmp_path):
    """Write the head of a kernel for AArch64."""
    path = tmp_path / "vmlinuz"
    path.write_bytes(KERNEL)
    return path


def test_it_needs_a_kernel(fails):
    fails("linux", code=2, said="--kernel")


def test_a_file_that_is_not_a_kernel_is_rejected(fails, kernel, tmp_path):
    words = "linux", "--kernel"
    kernel.write_bytes(b"\x1f\x8b" + KERNEL[:40])
    fails(*words, kernel, code=3, said=("is not a kernel", "b'\\x1f\\x8b"))
    fails(*words, tmp_path / "none", code=3, said="none")


def test_an_npu_without_a_driver_is_refused(kernel, tmp_path):
    with pytest.raises(InputError, match="no driver for ethos-u55-128, only for ethos-u65 and"):
        virt.command(kernel, None, tmp_path, npu="ethos-u55-128")


@pytest.mark.parametrize(("npu", "window"), [("ethos-u65-512", 0x1000), ("ethos-u85-256", 0x2000)])
def test_the_kernel_finds_the_npu_in_the_device_tree(kernel, tmp_path, npu, window):
    command = virt.command(kernel, None, tmp_path, npu=npu, append="quiet", memory="256M")
    assert command[0].endswith("qemu-system-aarch64")
    assert command[command.index("-append") + 1] == "console=ttyAMA0 quiet"
    tree = tmp_path / "npu.dtb"
    assert command[command.index("-dtb") + 1] == str(tree)
    fdtget = ["fdtget", "-t", "x", str(tree), "/npu@c100000"]
    assert virt.run([*fdtget, "reg"]).split() == ["0", "c100000", "0", f"{window:x}"]
    sram = virt.run([*fdtget, "sram"]).strip()
    assert virt.run([*fdtget[:4], "/sram@c200000", "phandle"]).strip() == sram
