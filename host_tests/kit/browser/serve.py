# SPDX-License-Identifier: MIT
"""Serves static files."""

import contextlib
import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Sets no headers except those that such a server always sets; notes what was requested."""

    def log_message(self, *_):
        pass

    def send_response(self, *args):
        self.server.requested.append(self.path)
        super().send_response(*args)


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[http.server.ThreadingHTTPServer]:
    """Serve a folder at a free port of localhost."""
    handler = functools.partial(_Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as made:
        made.requested = []
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()
