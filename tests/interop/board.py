"""Serves a log folder with the real TensorBoard on loopback, and asks it what it shows."""
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

PATIENCE_S = 90


class Board:
    """A running TensorBoard."""

    def __init__(self, url):
        self.url = url

    def get(self, path, **query):
        """The bytes of an answer; waits while TensorBoard is still reading the logs."""
        address = f"{self.url}data/{path}" + ("?" + urllib.parse.urlencode(query) if query else "")
        with urllib.request.urlopen(address, timeout=PATIENCE_S) as answer:
            return answer.read()

    def json(self, path, **query):
        return json.loads(self.get(path, **query))

    def post(self, path, body):
        request = urllib.request.Request(f"{self.url}data/{path}", data=json.dumps(body).encode(), method="POST",
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return json.loads(answer.read())

    def wait_for_runs(self, runs):
        deadline = time.monotonic() + PATIENCE_S
        seen = []
        while time.monotonic() < deadline:
            seen = self.json("runs")
            if set(runs) <= set(seen):
                return
            time.sleep(0.2)
        raise AssertionError(f"TensorBoard shows the runs {seen}, not {runs}")


@contextlib.contextmanager
def serve(folder):
    folder = pathlib.Path(folder).absolute()
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", folder.name, "--host", "127.0.0.1", "--port", "0",
               "--reload_interval", "1"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=folder.parent,
                               env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"})
    lines, found = [], threading.Event()

    def listen():
        for line in process.stderr:
            lines.append(line)
            if "http://" in line:
                found.set()
        found.set()

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        found.wait(PATIENCE_S)
        address = re.search(r"http://\S+?:\d+/", "".join(lines))
        assert address, "TensorBoard did not start:\n" + "".join(lines)
        yield Board(address.group(0))
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
        listener.join(10)
