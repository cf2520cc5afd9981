from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from csad.data.datasets.adult import AdultTable, read_adult
from tests.support.real_data import root_of


@pytest.fixture(scope="session")
def mnist_root() -> Path:
    return root_of("MNIST", "mnist", "train-images-idx3-ubyte.gz")


@pytest.fixture(scope="session")
def adult_root() -> Path:
    return root_of("Adult", "adult", "adult.data")


@pytest.fixture
def adult_table(adult_root: Path) -> AdultTable:
    return read_adult(adult_root / "adult" / "adult.data", adult_root / "adult" / "adult.test")


@pytest.fixture(scope="session")
def wiki_root() -> Path:
    return root_of("WIKI", "wiki", "wiki.mat")


class Mirror:
    """A web server on this machine that answers with the pages it was given."""

    def __init__(self) -> None:
        pages: dict[str, bytes] = {}
        asked: list[str] = []

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                page = pages.get(self.path)
                self.send_response(404 if page is None else 200)
                self.send_header("Content-Length", str(len(page or b"")))
                self.end_headers()
                self.wfile.write(page or b"")

            def log_message(self, *_: object) -> None:
                pass

        self.pages, self.asked = pages, asked
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    served = Mirror()
    thread = Thread(target=served.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield served
    served.server.shutdown()
    thread.join()
    served.server.server_close()
