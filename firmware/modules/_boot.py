# SPDX-License-Identifier: MIT
"""Runs before boot.py: mounts the board's disk, formats it if necessary, adds /lib to sys.path."""

import sys

import machine
import vfs


def _mount():
    try:
        disk = machine.Flash()
    except OSError:  # the board keeps no files without power
        disk = machine.RAMDisk()
    sizes = {"readsize": 256, "progsize": 256, "lookahead": 256}
    try:
        vfs.mount(vfs.VfsLfs2(disk, **sizes), "/")
    except OSError:
        vfs.VfsLfs2.mkfs(disk, **sizes)
        vfs.mount(vfs.VfsLfs2(disk, **sizes), "/")


_mount()
sys.path.append("/lib")  # where mpremote mip installs to
