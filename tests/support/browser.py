"""A headless Chromium for tests, spoken to through a pipe in its DevTools protocol; nothing but Python is needed."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
HOW = (
    "No browser was found, so the report's page was not looked at: install one (Debian, Ubuntu: apt install chromium; "
    "macOS: brew install --cask chromium), or name one in CSAD_BROWSER."
)
PATIENCE = 60.0  # seconds
# Chromium reads its commands from descriptor 3 and answers on 4; ours may be these very numbers, the other way round.
LAUNCH = """
import fcntl, os, sys
read, write = (fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3])
os.dup2(read, 3)
os.dup2(write, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def found_browser() -> str | None:
    """The program named in CSAD_BROWSER, else the first that is installed."""
    named = os.environ.get("CSAD_BROWSER")
    return shutil.which(named) if named else next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One tab; ``requests`` are what its pages ask of the network, ``complaints`` what stands in its console."""

    def __init__(self, program: str) -> None:
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        read, self._write = os.pipe()
        self._read, write = os.pipe()
        command = [
            sys.executable, "-c", LAUNCH, str(read), str(write), program, "--headless", "--no-sandbox", "--disable-gpu",
            "--no-first-run", "--disable-background-networking", "--remote-debugging-pipe",
            f"--user-data-dir={self._profile.name}", "about:blank",
        ]  # fmt: skip
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(command, pass_fds=(read, write), stdout=quiet, stderr=quiet)
        os.close(read)
        os.close(write)
        self._rest, self._count, self._session, self._loaded = b"", 0, "", False

    def __enter__(self) -> Browser:
        try:
            target = self.ask("Target.createTarget", url="about:blank")["targetId"]
            self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Network", "Runtime", "Log"):
                self.ask(f"{domain}.enable")
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE)
        os.close(self._read)
        os.close(self._write)
        self._profile.cleanup()

    def ask(self, method: str, **values: Any) -> Any:
        """What the browser answers to a command."""
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": values}
        message |= {"sessionId": self._session} if self._session else {}
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def open(self, page: Path, width: int, height: int, scheme: str = "light") -> None:
        """Shows a page in a window of this size, in light or dark."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", features=features)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.ask("Emulation.setDeviceMetricsOverride", **size)
        self._loaded = False
        self.ask("Page.navigate", url=page.resolve().as_uri())
        end = time.monotonic() + PATIENCE
        while not self._loaded:
            assert time.monotonic() < end, f"{page} was not shown in time"
            self._next()

    def value(self, script: str) -> Any:
        """What an expression comes to on the page."""
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def picture(self, place: Path) -> None:
        """Writes a screenshot of the whole page."""
        shot = self.ask("Page.captureScreenshot", captureBeyondViewport=True)
        place.write_bytes(base64.b64decode(shot["data"]))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            piece = os.read(self._read, 1 << 20)
            assert piece, "the browser has ended"
            self._rest += piece
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        told, name = message.get("params", {}), message.get("method")
        if name == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif name == "Page.loadEventFired":
            self._loaded = True
        elif name in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.complaints.append(json.dumps(told))
        return message


if __name__ == "__main__" and found_browser() is None:
    print(f"\n{'!' * 80}\n{HOW}\n{'!' * 80}")
