# SPDX-License-Identifier: MIT
"""QEMU's machine virt for Linux, with a device tree in which the kernel finds an NPU.

Addresses of NPU and SRAM: tools/qemu_plugin/boards/virt.toml. The kernel driver's binding:
Documentation/devicetree/bindings/npu/arm,ethos.yaml.
"""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ...base import paths
from ...base.errors import InputError, SetupError
from ...base.files import read_whole
from ...link.emulator.qemu import find_qemu, quoted

DEFAULT_NPU = "ethos-u65-256"
DEFAULT_MEMORY = "512M"
CONSOLE = "console=ttyAMA0"

_NPU_BASE, _NPU_SPI = 0xC100000, 100
_SRAM_BASE, _SRAM_SIZE = 0xC200000, 0x60000
# Size of the register window, and the string the driver matches.
_PRODUCTS = {
    "ethos-u65": (0x1000, '"fsl,imx93-npu", "arm,ethos-u65"'),
    "ethos-u85": (0x2000, '"arm,corstone1000-ethos-u85", "arm,ethos-u85"'),
}
# Magic bytes of kernel images and their positions, with QEMU's program and CPU.
_KERNELS = (
    (56, b"ARM\x64", "qemu-system-aarch64", "cortex-a53"),
    (36, b"\x18\x28\x6f\x01", "qemu-system-arm", "cortex-a15"),
)

_OVERLAY = """\
/dts-v1/;
/plugin/;
/ {{
    fragment@0 {{
        target-path = "/";
        __overlay__ {{
            npu_sram: sram@{sram:x} {{
                compatible = "mmio-sram";
                reg = <0 {sram:#x} 0 {sram_size:#x}>;
                ranges = <0 0 {sram:#x} {sram_size:#x}>;
                #address-cells = <1>;
                #size-cells = <1>;
            }};
            npu@{npu:x} {{
                compatible = {compatible};
                reg = <0 {npu:#x} 0 {window:#x}>;
                interrupts = <0 {spi} 4>;
                clocks = <{clock}>, <{clock}>;
                clock-names = "core", "apb";
                sram = <&npu_sram>;
            }};
        }};
    }};
}};
"""


def command(
    kernel: Path,
    initrd: Path | None,
    folder: Path,
    *,
    npu: str = DEFAULT_NPU,
    append: str = "",
    memory: str = DEFAULT_MEMORY,
    plugin_options: Sequence[str] = (),
) -> list[str]:
    """Return the command that boots a kernel, whose device tree is written to `folder`.

    The kernel's console is the terminal; `append` extends its command line. InputError if a file is
    not a kernel, or the kernel's driver does not support the NPU; SetupError if a program is not
    installed.
    """
    program, cpu = _for_kernel(kernel)
    machine = ["-machine", "virt", "-cpu", cpu, "-m", memory]
    machine = [find_qemu(program), *machine, "-nic", "none", "-nographic", "-no-reboot"]
    tree = _device_tree(machine, npu, folder)
    plugin = ",".join(map(quoted, [paths.qemu_plugin(), "board=VIRT", f"npu={npu}"]))
    files = ["-kernel", str(kernel), "-dtb", str(tree)]
    if initrd is not None:
        read_whole(initrd)
        files += ["-initrd", str(initrd)]
    return [
        *machine,
        *files,
        *("-append", f"{CONSOLE} {append}".strip()),
        *("-plugin", ",".join([plugin, *plugin_options])),
    ]


def _for_kernel(kernel: Path) -> tuple[str, str]:
    """Return QEMU's program and CPU for a kernel image."""
    head = read_whole(kernel)[:64]
    for at, magic, program, cpu in _KERNELS:
        if head[at : at + len(magic)] == magic:
            return program, cpu
    raise InputError(
        f"{kernel} is not a kernel: expected an uncompressed Image (arm64, b'ARMd' at byte 56) or "
        f"zImage (arm), found {head[:4]!r} at its start"
    )


def _device_tree(machine: Sequence[str], npu: str, folder: Path) -> Path:
    """Add NPU and SRAM to QEMU's own device tree of this machine."""
    window, compatible = _PRODUCTS.get(npu.rpartition("-")[0], (0, ""))
    if not window:
        raise InputError(f"Linux has no driver for {npu}, only for {' and '.join(_PRODUCTS)}")
    base, source, overlay, tree = (
        folder / name for name in ("virt.dtb", "npu.dtso", "npu.dtbo", "npu.dtb")
    )
    run([*machine, "-machine", f"dumpdtb={quoted(base)}"])
    (clock,) = run(["fdtget", "-t", "u", str(base), "/apb-pclk", "phandle"]).split()
    source.write_text(
        _OVERLAY.format(
            npu=_NPU_BASE,
            spi=_NPU_SPI,
            sram=_SRAM_BASE,
            sram_size=_SRAM_SIZE,
            compatible=compatible,
            window=window,
            clock=clock,
        )
    )
    run(["dtc", "-q", "-I", "dts", "-O", "dtb", "-o", str(overlay), str(source)])
    run(["fdtoverlay", "-i", str(base), "-o", str(tree), str(overlay)])
    return tree


def run(words: Sequence[str]) -> str:
    """Return a program's output; SetupError if it is missing or fails."""
    if shutil.which(words[0]) is None:
        raise SetupError(f"{words[0]} is not installed; install Debian's device-tree-compiler")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SetupError(f"{words[0]} created no device tree: {done.stderr.strip()}")
    return done.stdout
