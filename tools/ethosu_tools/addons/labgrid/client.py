# SPDX-License-Identifier: MIT
"""A client of labgrid's coordinator; places.py runs it in the Python that has labgrid.

It imports only labgrid, reads its options as JSON from the first argument, and writes its answer as
JSON to the file named in the options.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc
from labgrid.remote.client import ClientSession
from labgrid.remote.common import Place
from labgrid.remote.generated import labgrid_coordinator_pb2 as messages
from labgrid.util.proxy import proxymanager

# Resource class that an exporter offers for each serial line of its host.
SERIAL = "NetworkSerialPort"


async def places(session: ClientSession, options: dict[str, Any]) -> Any:
    """Return names and tags of all places."""
    return {place.name: place.tags for place in session.places.values()}


async def acquire(session: ClientSession, options: dict[str, Any]) -> Any:
    """Acquire a place; returns its port and whether we already had it, or its other user."""
    place = find(session, options["place"])
    before = place.acquired == me(session) or me(session) in place.allowed
    if place.acquired and not before:
        return {"holder": place.acquired}
    try:
        if not before:
            await session.stub.AcquirePlace(messages.AcquirePlaceRequest(placename=place.name))
            await session.sync_with_coordinator()
        return {"port": serial_line(session, find(session, place.name)), "before": before}
    except BaseException:
        if not before:
            await release(session, options)
        raise


async def release(session: ClientSession, options: dict[str, Any]) -> Any:
    """Release a place; the coordinator ignores this if another user has it."""
    request = messages.ReleasePlaceRequest(placename=options["place"], fromuser=me(session))
    await session.stub.ReleasePlace(request)
    await session.sync_with_coordinator()
    return {}


def me(session: ClientSession) -> str:
    """Return labgrid's name for this user."""
    return f"{session.gethostname()}/{session.getuser()}"


def find(session: ClientSession, name: str) -> Place:
    """Find the place with this name."""
    if name not in session.places:
        known = ", ".join(sorted(session.places)) or "(none)"
        raise SystemExit(f"labgrid has no place {name!r}; its places are {known}")
    return session.places[name]


def serial_line(session: ClientSession, place: Place) -> str:
    """Return the URL of a place's serial line."""
    resources = session.get_target_resources(place).values()
    line = next((entry.args for entry in resources if entry.cls == SERIAL), None)
    if line is None:
        listed = ", ".join(entry.cls for entry in resources) or "(none)"
        raise SystemExit(f"the place {place.name} has no {SERIAL}; its resources are {listed}")
    if line.get("protocol") == "raw":
        return f"socket://{line['host']}:{line['port']}"
    return f"rfc2217://{line['host']}:{line['port']}?ign_set_control"


async def ask(options: dict[str, Any]) -> Any:
    """Connect to the coordinator and execute the request."""
    requests: dict[str, Callable[[ClientSession, dict[str, Any]], Awaitable[Any]]] = {
        "places": places,
        "acquire": acquire,
        "release": release,
    }
    address = proxymanager.get_grpc_address(options["coordinator"], default_port=20408)
    session = ClientSession(address, asyncio.get_running_loop())
    try:
        await session.start()
    except Exception as error:
        reason = f"labgrid's coordinator at {options['coordinator']} does not respond"
        raise SystemExit(reason) from error
    try:
        return await requests[options["request"]](session, options)
    except grpc.aio.AioRpcError as error:
        raise SystemExit(f"labgrid: {error.details()}") from error
    finally:
        session.stopping.set()
        await session.stop()
        await session.close()


if __name__ == "__main__":
    options = json.loads(sys.argv[1])
    Path(options["answer"]).write_text(json.dumps(asyncio.run(ask(options))))
