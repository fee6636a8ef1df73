# SPDX-License-Identifier: MIT
"""`ethosu qemu --machine virt`: errors. Successful boots: host_tests/linux."""

import pytest
from ethosu_tools import virt
from ethosu_tools.errors import InputError

KERNEL = bytes(56) + b"ARM\x64" + bytes(100)


@pytest.fixture
def kernel(tmp_path):
    """The head of a kernel for AArch64."""
    path = tmp_path / "vmlinuz"
    path.write_bytes(KERNEL)
    return path


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--kernel vmlinuz", "--kernel needs --machine virt"),
        ("--machine virt", "--machine virt needs --kernel"),
        ("--machine virt --kernel vmlinuz --npu1 ethos-u65-256", "--npu1 is only for boards"),
    ],
)
def test_options_of_the_other_machine_are_refused(ethosu, words, message):
    code, _, err = ethosu("qemu", *words.split())
    assert code == 2 and message in err


def test_a_file_that_is_not_a_kernel_is_rejected(ethosu, kernel, tmp_path):
    words = "qemu", "--machine", "virt", "--kernel"
    kernel.write_bytes(b"\x1f\x8b" + KERNEL[:40])
    code, _, err = ethosu(*words, kernel)
    assert code == 3 and "is no kernel" in err and "b'\\x1f\\x8b" in err
    code, _, err = ethosu(*words, tmp_path / "none")
    assert code == 3 and "none" in err


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
