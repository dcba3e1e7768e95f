"""Remote files are read by ranges, asked again where that helps, and S3's requests carry a signature that holds."""
import hashlib
import hmac
import http.server
import os
import re
import threading
import time

import pytest
from support import cohort

DATA = bytes(range(256)) * 20
KEY, SECRET, TOKEN, REGION = "AKIDEXAMPLE", "not/a+real-secret", "a-token", "eu-north-1"


def signature_holds(handler):
    """Computes the signature of AWS version 4 anew, from what was received."""
    given = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^,]*), ?SignedHeaders=([^,]*), ?Signature=(\w+)",
                         handler.headers.get("Authorization", ""))
    if not given:
        return False
    scope, names, signature = given.groups()
    key, day, region, service, end = scope.split("/")
    names = names.split(";")
    if (key, region, service, end) != (KEY, REGION, "s3", "aws4_request") or "host" not in names:
        return False
    if "x-amz-security-token" not in names or handler.headers["x-amz-security-token"] != TOKEN:
        return False
    path, _, query = handler.path.partition("?")
    lines = [handler.command, path, query, *(f"{name}:{handler.headers[name].strip()}" for name in names), "",
             ";".join(names), handler.headers.get("x-amz-content-sha256", hashlib.sha256(b"").hexdigest())]
    request = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    text = "\n".join(["AWS4-HMAC-SHA256", handler.headers["x-amz-date"], "/".join(scope.split("/")[1:]), request])
    secret = ("AWS4" + SECRET).encode()
    for part in (day, region, service, end, text):
        digest = hmac.new(secret, part.encode(), hashlib.sha256)
        secret = digest.digest()
    return digest.hexdigest() == signature


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, headers=(), body=b""):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if "Content-Length" not in dict(headers):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self):
        self.server.seen.append((self.command, self.headers.get("Range")))
        kind = self.path.rsplit("/", 1)[-1]
        if kind == "missing":
            return self.answer(404)
        if self.path.startswith("/bucket/") and not signature_holds(self):
            return self.answer(403)
        if kind == "moved":
            return self.answer(302, [("Location", "/plain")])
        if kind == "busy" and len(self.server.seen) % 3:
            return self.answer(503)
        if kind == "slow":
            time.sleep(1.5)
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        etag = '"second"' if kind == "changing" and asked else '"first"'
        if self.headers.get("If-Match", etag) != etag:
            return self.answer(412)
        if not asked or kind == "whole":
            return self.answer(200, [("ETag", etag), ("Content-Length", str(len(DATA)))], DATA)
        first, last = map(int, asked.groups())
        assert first <= last < len(DATA)
        body = DATA[first:last + 1]
        if kind == "cut" and len(self.server.seen) == 2:
            self.close_connection = True
            return self.answer(206, [("ETag", etag), ("Content-Range", f"bytes {first}-{last}/{len(DATA)}"),
                                     ("Content-Length", str(len(body)))], body[:-1])
        self.answer(206, [("ETag", etag), ("Content-Range", f"bytes {first}-{last}/{len(DATA)}")], body)

    do_GET = do_HEAD


@pytest.fixture
def server(monkeypatch):
    for name in list(os.environ):
        if name.startswith("AWS_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    served = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.seen = []
    served.address = f"http://127.0.0.1:{served.server_port}"
    threading.Thread(target=served.serve_forever, daemon=True).start()
    yield served
    served.shutdown()
    served.server_close()


def read(address, *places):
    return [line.split(" ", 1) for line in cohort("remote", address, *places).splitlines()]


def test_ranges_are_read_ahead_and_used_again(server):
    lines = read(server.address + "/plain", 0, 10, 10, 900, 905, 200, 5000, 500, 6000, 1, 100, 3000)
    expected = [DATA[0:10], DATA[10:910], DATA[905:1105], DATA[5000:5500], b"", DATA[100:3100]]
    assert lines == [["size", str(len(DATA))]] + [["bytes", part.hex()] for part in expected]
    assert server.seen == [("HEAD", None), ("GET", "bytes=0-999"), ("GET", "bytes=1000-1999"),
                           ("GET", "bytes=5000-5119"), ("GET", "bytes=100-3099")]


@pytest.mark.parametrize("kind", ["moved", "busy", "cut"])
def test_what_passes_is_asked_again(server, kind):
    assert read(f"{server.address}/{kind}", 7, 5) == [["size", str(len(DATA))], ["bytes", DATA[7:12].hex()]]


@pytest.mark.parametrize("kind,code", [("missing", "NotFound"), ("slow", "Unavailable")])
def test_what_cannot_be_opened_says_so(server, kind, code):
    (word, text), = read(f"{server.address}/{kind}")
    assert word == "error" and text.startswith(code) and f"/{kind}" in text


@pytest.mark.parametrize("kind,code", [("changing", "DataLoss"), ("whole", "FailedPrecondition")])
def test_another_file_or_no_ranges_are_errors(server, kind, code):
    size, (word, text) = read(f"{server.address}/{kind}", 0, 10)
    assert size == ["size", str(len(DATA))] and word == "error" and text.startswith(code)


def sent(root, address):
    return cohort("sent", root, address).split(" ", 1)


def test_chains_that_were_sent_fetch_beneath_their_root_alone(server):
    assert sent(server.address + "/data", server.address + "/data/plain") == ["records", "20\n"]
    for root, name in [("/data", "/plain"), ("/data", "/data/../plain"), ("/dat", "/data/plain")]:
        word, text = sent(server.address + root, server.address + name)
        assert word == "error" and text.startswith("PermissionDenied") and name in text


def test_chains_that_were_sent_are_not_led_elsewhere(server):
    assert sent("/", server.address + "/data/moved") == ["records", "20\n"]
    word, text = sent(server.address + "/data", server.address + "/data/moved")
    assert word == "error" and "302" in text


def sign(monkeypatch, server, secret):
    for name, value in [("ACCESS_KEY_ID", KEY), ("SECRET_ACCESS_KEY", secret), ("SESSION_TOKEN", TOKEN),
                        ("REGION", REGION), ("ENDPOINT_URL", server.address)]:
        monkeypatch.setenv("AWS_" + name, value)


def test_requests_to_s3_are_signed(server, monkeypatch):
    sign(monkeypatch, server, SECRET)
    assert read("s3://bucket/folder/object", 1, 4, 2000, 3) == [
        ["size", str(len(DATA))], ["bytes", DATA[1:5].hex()], ["bytes", DATA[2000:2003].hex()]]


def test_a_wrong_secret_is_refused(server, monkeypatch):
    sign(monkeypatch, server, "another")
    (word, text), = read("s3://bucket/folder/object")
    assert word == "error" and text.startswith("PermissionDenied")


def test_an_address_of_s3_has_a_bucket_and_a_key():
    for address in ("s3://bucket", "s3:///key", "s3://bucket/"):
        assert read(address)[0][1].startswith("InvalidArgument")
