# SPDX-License-Identifier: MIT
"""Applications can link the driver in a static archive without special options.

A linker takes only referenced objects from an archive. These tests check that products and the
verifier are referenced, and that a build without one of them reports it; test_library.py checks
that nothing else is linked.
"""

from pathlib import Path

import pytest

from host_tests.kit import sharing
from host_tests.modules.ethosu.driver import cbuild

FAMILIES = {"U55": "ethos-u55-128", "U65": "ethos-u65-512", "U85": "ethos-u85-2048"}
OPTIONS = ("", "ETHOSU_VERIFY=0", *(f"ETHOSU_{family}=0" for family in FAMILIES))

NO_VERIFIER = "this build has no verifier: build with ETHOSU_VERIFY=1, or load without verifying"
FINE = {
    "init": "no error",
    "stream": "no error",
    "nonsense": "command stream word 0 is 0xffff3fff, not a command of this NPU",
    "unchecked": "no error",
    "invoke": "no error",
}
UNVERIFIED = FINE | dict.fromkeys(("stream", "nonsense", "invoke"), NO_VERIFIER)


@pytest.fixture(scope="module", params=OPTIONS, ids=lambda option: option or "everything")
def built(request: pytest.FixtureRequest, tmp_path_factory) -> tuple[str, Path]:
    """Return a build option, and the application linked with an archive built that way."""
    folder = tmp_path_factory.mktemp("archive")
    flags = [*cbuild.STRICT, "-O1", *cbuild.INCLUDES]
    flags += [f"-D{request.param}"] if request.param else []
    host = cbuild.archives("", *cbuild.HOST)
    archive = folder / "libethosu_driver.a"
    cbuild.run(["ar", "rcs", archive, *sharing.objects(["gcc", *flags], cbuild.SOURCES)])
    files = sharing.objects(["gcc", *flags], [cbuild.C / "archive.c", cbuild.C / "board.c"])
    cbuild.run(["gcc", "-o", folder / "archive", *files, *cbuild.group(archive, *host), "-lm"])
    return request.param, folder / "archive"


@pytest.mark.parametrize("family", FAMILIES)
def test_products_work_if_built_in_and_are_named_if_not(built, family) -> None:
    """With a product, the NPU is found; without, one message names the option."""
    option, program = built
    name = FAMILIES[family]
    expected = UNVERIFIED if option == "ETHOSU_VERIFY=0" else FINE
    if option == f"ETHOSU_{family}=0":
        message = f"this build does not support {name}: build with ETHOSU_{family}=1"
        expected = {"init": message}
    lines = cbuild.run([program, name]).splitlines()
    assert dict(line.split(": ", 1) for line in lines) == expected


def test_a_build_without_any_npu_is_refused(tmp_path) -> None:
    """A build without any product does not compile; the error names the option to set."""
    flags = [*cbuild.INCLUDES, "-DETHOSU_U55=0", "-DETHOSU_U65=0", "-DETHOSU_U85=0"]
    source = cbuild.REPO / "modules/ethosu/driver/device/ethosu_products.c"
    error = cbuild.refuse(["gcc", *flags, "-c", source, "-o", tmp_path / "none.o"])
    assert "set ETHOSU_U55, ETHOSU_U65 or ETHOSU_U85 to 1" in error
