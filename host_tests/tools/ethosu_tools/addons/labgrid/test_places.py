# SPDX-License-Identifier: MIT
"""Places without labgrid."""

import json
from types import SimpleNamespace

import pytest
from ethosu_tools.addons.labgrid import places
from ethosu_tools.base.locks import Lock, LockedError

from host_tests.tools.ethosu_tools.base.test_locks import is_taken


def test_a_place_of_labgrid_holds_the_lock_of_its_line(folder, monkeypatch):
    """Its users may also open the line by its address; one that it is lent to does."""
    place = SimpleNamespace(holder=None, by_us=True, port="socket://h:1", release=lambda: None)
    monkeypatch.setattr(places, "Acquired", lambda *_: place)
    with Lock("labgrid:p") as lock:
        assert is_taken("rfc2217://h:1")
        with lock.lent() as port, Lock(port):
            assert is_taken("labgrid:p")
        assert is_taken("socket://h:1")
        lock.move("socket://h:2")
        assert lock.port == "socket://h:2" and is_taken("socket://h:2")
        assert is_taken("labgrid:p") and not is_taken("socket://h:1")
    with Lock("socket://h:1"), pytest.raises(LockedError, match="labgrid:p is in use by "):
        Lock("labgrid:p")
    assert not [*folder.iterdir()]


def test_doctor_names_it(ethosu):
    checks = json.loads(ethosu("doctor", "--json")[1])["checks"]
    assert {"ports labgrid:PLACE"} == {each["for"] for each in checks if each["name"] == "labgrid"}
