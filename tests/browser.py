"""A headless Chromium to open pages in, through its own protocol."""

import asyncio
import base64
import json
import shutil
import subprocess
import time
import urllib.request
from itertools import count

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium to open pages in (Debian: chromium)")


class Page:
    """One page of a running browser: what it complains about, asks for, and answers."""

    def __init__(self, socket, loop):
        self.socket, self.loop = socket, loop
        self.numbers, self.complaints, self.requests = count(1), [], []

    def call(self, method, **params):
        """Answer of the browser to one command; what it reports meanwhile is noted."""
        return self.loop.run_until_complete(asyncio.wait_for(self._call(method, params), 60))

    async def _call(self, method, params):
        number = next(self.numbers)
        await self.socket.write_message(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            told = json.loads(await self.socket.read_message())
            if told.get("id") == number:
                assert "error" not in told, f"{method}: {told['error']}"
                return told["result"]
            self._note(told)

    def _note(self, told):
        kind, params = told.get("method"), told.get("params", {})
        if kind == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif kind == "Runtime.exceptionThrown":
            self.complaints.append(params["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif kind == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"]["text"])
        elif kind == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(params["args"]))
        elif kind == "Page.javascriptDialogOpening":
            self.complaints.append(f"dialog: {params['message']}")

    def open(self, url, *, width=1100, height=900, dark=False):
        """Load a page, and wait until nothing more comes."""
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        phone = width < 600
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=url)
        for _ in range(200):
            if self.ask("document.readyState === 'complete' && location.href !== 'about:blank'"):
                break
            time.sleep(0.05)
        time.sleep(0.3)
        self.ask("1")

    def ask(self, expression):
        """Value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key, code):
        """Press and release a key."""
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **text)

    def shot(self, path, *, whole=True):
        """Picture of the page."""
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=whole, format="png", **self._clip(whole))
        path.write_bytes(base64.b64decode(picture["data"]))

    def _clip(self, whole):
        if not whole:
            return {}
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}


class Browser:
    """A browser that lives as long as the block."""

    def __init__(self, folder):
        self.folder, self.loop = folder, asyncio.new_event_loop()

    def __enter__(self):
        words = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-port=0"]
        words += ["--no-first-run", "--disable-background-networking", f"--user-data-dir={self.folder}", "about:blank"]
        nothing = subprocess.DEVNULL
        self.process = subprocess.Popen([CHROMIUM, *words], stdout=nothing, stderr=nothing, stdin=nothing)
        told = self.folder / "DevToolsActivePort"
        for _ in range(600):
            if told.exists() and "\n" in told.read_text():
                break
            time.sleep(0.05)
        self.port = int(told.read_text().splitlines()[0])
        return self

    def page(self):
        """A new page."""
        from tornado.websocket import websocket_connect

        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/json/new?about:blank", method="PUT")
        with urllib.request.urlopen(request) as answer:
            address = json.load(answer)["webSocketDebuggerUrl"]
        options = {"max_message_size": 1 << 28}
        socket = self.loop.run_until_complete(_connected(websocket_connect, address, options))
        return Page(socket, self.loop)

    def __exit__(self, *error):
        self.process.terminate()
        self.process.wait(30)
        self.loop.close()


async def _connected(connect, address, options):
    return await connect(address, **options)
