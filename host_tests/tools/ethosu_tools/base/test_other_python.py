# SPDX-License-Identifier: MIT
"""The package that a missing module belongs to is named as this Python and system need it."""

from importlib import metadata

import packaging.markers
import pytest
from ethosu_tools.base import other_python

NEWER, OLDER = "ai-edge-litert==2.3.0", "ai-edge-litert==1.2.0"


@pytest.mark.parametrize(
    "version, system, expected",
    [("3.12", "linux", OLDER), ("3.13", "linux", NEWER), ("3.12", "win32", NEWER)],
)
def test_the_release_is_that_for_this_python_and_system(version, system, expected, monkeypatch):
    here = packaging.markers.default_environment()
    here |= {"python_version": version, "sys_platform": system}
    monkeypatch.setattr(packaging.markers, "default_environment", here.copy)
    assert other_python.distribution("ai_edge_litert") == expected
    assert other_python.pins("oracle") == [expected]


def test_every_package_is_found_by_the_name_of_its_module():
    for extra in ("", *metadata.metadata("ethosu-tools").get_all("Provides-Extra")):
        for each in other_python.pins(extra):
            name, *_ = each.replace(">", "=").split("=")
            assert other_python.distribution(name.replace("-", "_")).startswith(name)


@pytest.mark.parametrize("module", ["serial.absent", "ethosu.vela.absent", "json.absent", None])
def test_a_package_that_lacks_a_module_is_not_called_absent(module):
    assert other_python.distribution(module) is None


def test_a_folder_of_the_same_name_is_no_package(tmp_path, monkeypatch):
    (tmp_path / "absent_here").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(metadata, "requires", lambda name: ["Absent.Here==1; extra == 'demo'"])
    for module in ("absent_here", "absent_here.part", "absent_here.part.of_it"):
        assert other_python.distribution(module) == "Absent.Here==1"
