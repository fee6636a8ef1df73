# SPDX-License-Identifier: MIT
"""The firmware tells the driver about memory that it writes."""

from host_tests.modules.ethosu.driver import cbuild

EXPECTED = """\
write 1
copy 0
write 1
changed -1
bounds 1
write 1
copy 0
clear 1
cleared -1
"""


def test_the_driver_forgets_payloads_when_memory_is_written(repo, tmp_path):
    """The driver knows verified payloads by address, so a new one there is verified again."""
    here, firmware = repo / "host_tests/firmware/storage", repo / "firmware"
    sources = [here / "nvm.c", firmware / "storage/nvm.c"]
    paths = ["-include", here / "fake_cpu.h", f"-I{firmware / 'include'}", *cbuild.INCLUDES]
    archives = cbuild.archives("address", cbuild.DRIVER, cbuild.BOARD, cbuild.SIM)
    flags = [*cbuild.STRICT, *cbuild.SANITIZE["address"], *paths]
    libraries = ["-Wl,--start-group", *archives, "-Wl,--end-group", "-lm"]
    cbuild.run(["gcc", *flags, *sources, *libraries, "-o", tmp_path / "nvm"])
    assert cbuild.run([tmp_path / "nvm"]) == EXPECTED
