# SPDX-License-Identifier: MIT
"""Users of a port exclude each other; foreign files in a shared folder are not written."""

import errno
import os
import socket
import stat
import subprocess
import sys
from types import SimpleNamespace
from urllib.parse import quote

import pytest
from ethosu_tools.base import locks
from ethosu_tools.base.errors import BoardLinkError, SetupError
from ethosu_tools.base.locks import Lock, LockedError
from ethosu_tools.link.board import Board
from ethosu_tools.testing import pool

from host_tests.kit.lines.fake_board import FakeBoard

PORT = "/dev/ttyACM0"
PRECIOUS = "what root owns\n" * 3


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder that users share, given by the environment."""
    folder = tmp_path / "locks"
    folder.mkdir(mode=0o777)
    monkeypatch.setenv(locks.VARIABLE, str(folder))
    return folder


def lock_file(folder):
    return folder / f"{quote(f'{socket.gethostname()}:{PORT}', safe=':')}.lock"


@pytest.mark.parametrize(
    ("put", "what"),
    [
        (lambda there, victim: there.symlink_to(victim), "a symbolic link"),
        (lambda there, victim: there.symlink_to(victim.with_name("new")), "a symbolic link"),
        (lambda there, victim: there.hardlink_to(victim), "a hard link"),
        (lambda there, victim: os.mkfifo(there), "not a regular file"),
    ],
)
def test_a_file_that_is_not_a_lock_is_rejected_and_not_written(tmp_path, folder, put, what):
    victim = tmp_path / "precious"
    victim.write_text(PRECIOUS)
    put(lock_file(folder), victim)
    with pytest.raises(SetupError, match=f"{PORT[-7:]}.lock is {what}, not a lock file; remove it"):
        Lock(PORT)
    assert victim.read_text() == PRECIOUS and not victim.with_name("new").exists()
    lock_file(folder).unlink()
    Lock(PORT).close()


def replaced(there):
    """Replace a lock file by a locked one, as another process does."""
    there.unlink()
    there.write_text("another's")
    return there


def is_taken(port):
    try:
        Lock(port).close()
    except LockedError:
        return True
    return False


def test_a_lock_file_that_others_have_replaced_is_kept(folder):
    """A lock file that others have replaced is kept, or its holder would lose the lock."""
    with Lock(PORT):
        theirs = replaced(lock_file(folder))
    assert theirs.read_text() == "another's"
    theirs.unlink()
    with locks.waiting(PORT):
        theirs = replaced(lock_file(folder).with_suffix(".waiting"))
    assert theirs.read_text() == "another's"


@pytest.mark.parametrize(
    "names",
    [
        (
            "socket://127.0.0.1:1",
            "socket://localhost:1",
            "socket://LOCALHOST:1",
            "socket://[::1]:1",
        ),
        ("socket://127.0.0.1:1", f"rfc2217://{socket.gethostname()}:1", "socket://127.1:1"),
        ("socket://h:1", "rfc2217://H:1", "rfc2217://h:1?ign_set_control", "socket://h:01"),
        ("socket://h:1?logging=debug", "socket://h:1"),
        ("/dev/null", "/dev/../dev/null", "spy:///dev/null?file=log", "alt:///dev/null?class=x"),
    ],
)
def test_a_board_has_one_lock_however_its_port_is_written(folder, names):
    for first in names:
        with Lock(first):
            assert all(map(is_taken, names))


def test_a_lock_moves_to_the_new_name_of_its_device(folder):
    with Lock("/dev/a") as lock:
        with Lock("/dev/b"), pytest.raises(LockedError, match="/dev/b is in use by "):
            lock.move("/dev/b")
        assert lock.port == "/dev/a" and is_taken("/dev/a") and not is_taken("/dev/b")
        lock.move("/dev/b")
        assert not is_taken("/dev/a") and is_taken("/dev/b")
        with lock.lent() as port, Lock(port):
            assert port == "/dev/b"
        lock.move("/dev/../dev/b")
        assert is_taken("/dev/b")
    assert not [*folder.iterdir()]


def test_different_boards_have_different_locks(folder, tmp_path):
    link = tmp_path / "by-id"
    link.symlink_to("/dev/null")
    ports = ("socket://h:1", "socket://h:2", "socket://g:1", "loop://", str(link))
    for port in (*ports, "emulated://run/1", "emulated://run/2", "/dev/zero"):
        with Lock(port):
            assert [each for each in (*ports, "/dev/null") if is_taken(each)] == [
                *([port] if port in ports else []),
                *(["/dev/null"] if port == str(link) else []),
            ]


@pytest.mark.parametrize(
    ("function", "number", "what"),
    [
        ("os.pwrite", errno.ENOSPC, "written: No space left"),
        ("os.ftruncate", errno.EIO, "written: Input/output error"),
        ("fcntl.flock", errno.ENOLCK, "locked: No locks available"),
        ("os.open", errno.ENOSPC, "opened: No space left"),
    ],
)
def test_a_folder_without_room_or_locks_is_named(folder, monkeypatch, function, number, what):
    """A full disk, or an NFS server without locks, is an error that names the folder."""

    def fail(*_):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(f"ethosu_tools.base.locks.{function}", fail)
        match = rf"{PORT[-7:]}.lock cannot be {what}.*; set ETHOSU_LOCKS to another folder"
        with pytest.raises(SetupError, match=match):
            Lock(PORT)
    with Lock(PORT):
        pass


def test_a_port_with_a_null_character_is_refused(folder):
    for port in ("/dev/\0", "socket://a\0b:1"):
        with pytest.raises(BoardLinkError, match=r"\\x00"):
            Board(port)


@pytest.fixture
def session(tmp_path, monkeypatch):
    """Return a folder that the system made for a user's session."""
    monkeypatch.delenv(locks.VARIABLE, raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(locks.tempfile, "tempdir", None)
    session = tmp_path / "session"
    session.mkdir(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(session))
    return session


def test_lock_files_are_in_a_folder_of_the_users_own(tmp_path, session):
    with Lock(PORT):
        assert lock_file(session / "ethosu-locks").is_file()
    session.chmod(0o777)  # not a session folder: others may write to it
    with Lock(PORT):
        own = tmp_path / f"ethosu-locks-{os.getuid()}"
        assert lock_file(own).is_file() and stat.S_IMODE(own.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "put",
    [
        lambda there, other: there.symlink_to(other),
        lambda there, other: (there.mkdir(), there.chmod(0o1777)),
        lambda there, other: there.write_text(""),
    ],
)
def test_folder_that_others_made_first_is_refused(tmp_path, session, put):
    session.rmdir()
    other = tmp_path / "other"
    other.mkdir()
    put(tmp_path / f"ethosu-locks-{os.getuid()}", other)
    with pytest.raises(SetupError, match="not a folder that only this user can write to; remove"):
        Lock(PORT)
    assert not [*other.iterdir()]


HOLDER = """\
import sys, time
from ethosu_tools.link.board import Board
with Board(sys.argv[1]):
    print(flush=True)
    time.sleep(1000)
"""


def test_users_with_folders_of_their_own_exclude_each_other(session, tmp_path):
    """Users with separate folders, and mpremote, are kept out by the device's own lock."""
    theirs = tmp_path / "theirs"
    theirs.mkdir(0o700)
    with FakeBoard() as fake:
        command = [sys.executable, "-c", HOLDER, fake.port]
        environment = {**os.environ, "XDG_RUNTIME_DIR": str(theirs)}
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as other:
            other.stdout.readline()
            with pytest.raises(LockedError, match=f"{fake.port} is in use by another program"):
                Board(fake.port)
            other.kill()
        Board(fake.port, boot_timeout=3).close()


@pytest.mark.parametrize("run", ["another", "this"])
def test_an_emulated_board_waits_for_workers_of_the_same_run_only(monkeypatch, run):
    """A worker waits for others of its run only, as other users may never release a board."""
    needs = pool.Needs("ethos-u55-256")
    emulated = pool.Place(board="MPS3_AN547")

    def take(place, npu):
        if place is not emulated:
            raise LockedError(place.port, f"somebody\n{run}")
        return SimpleNamespace(place=place, npus=[npu], fits=lambda _: True)

    monkeypatch.setattr(locks, "_runs", ["this"])
    monkeypatch.setattr(pool, "Taken", take)
    places = pool.Pool([pool.Place(port=PORT), emulated])
    found = places._take(needs, [], [])
    assert (found and found.place) == (emulated if run == "another" else None)
