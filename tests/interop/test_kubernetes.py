"""The Kubernetes resolver against a server over HTTPS that plays the API."""
import http.server
import json
import shutil
import ssl
import subprocess
import threading
import time
import urllib.parse

import pytest
from support import cohort

pytestmark = pytest.mark.skipif(not shutil.which("openssl"), reason="needs the program openssl")
TOKEN = "the.token-of_this~pod"


def pod(name, ip=None, phase=None, **labels):
    """A pod as the API lists it: running where it has an IP."""
    stem = name.rpartition("-")[0]
    return {"metadata": {"name": name, "labels": labels or {"role": stem},
                         "ownerReferences": [{"kind": "StatefulSet", "name": stem, "controller": True}]},
            "spec": {"hostname": name, "subdomain": "train", "containers": [{"name": "main"}]},
            "status": {"phase": phase or ("Running" if ip else "Pending"), **({"podIP": ip} if ip else {})}}


def many(count):
    return [pod(f"worker-{i}", f"10.0.1.{i}") for i in range(count)]


class Api(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body):
        body = json.dumps(body).encode() if isinstance(body, dict) else body
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status, message):
        self.answer(status, {"kind": "Status", "status": "Failure", "code": status, "message": message})

    def do_GET(self):
        server = self.server
        address = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(address.query, keep_blank_values=True, strict_parsing=True))
        server.seen.append(query)
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            return self.refuse(401, "Unauthorized")
        if address.path != "/api/v1/namespaces/the-team/pods":
            return self.refuse(403, 'pods is forbidden: cannot list resource "pods" in the namespace')
        if server.moods:
            status, message = server.moods.pop(0)
            return self.refuse(status, message) if status else self.answer(200, message)
        wanted = dict(part.split("=") for part in query["labelSelector"].split(","))
        pods = server.pods(len(server.seen)) if callable(server.pods) else server.pods
        pods = [each for each in pods if wanted.items() <= each["metadata"]["labels"].items()]
        first = int(query.get("continue", "at+/=&0").removeprefix("at+/=&"))
        last = first + min(server.page, int(query["limit"]))
        metadata = {"continue": f"at+/=&{last}"} if last < len(pods) else {}
        self.answer(200, {"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": pods[first:last]})


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """A certificate authority, a server's certificate that it has signed, and a stranger's authority."""
    folder = tmp_path_factory.mktemp("certificates")

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    for name in ("ca", "stranger"):
        openssl("req", "-x509", *new_key, "-keyout", f"{name}.key", "-out", f"{name}.crt", "-subj", f"/CN={name}")
    openssl("req", *new_key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=api")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names",
            "-out", "server.crt")
    return folder


@pytest.fixture
def api(certificates, tmp_path, monkeypatch):
    # A proxy of the environment must not get to see the token.
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    served = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server.crt", certificates / "server.key")
    served.socket = context.wrap_socket(served.socket, server_side=True)
    served.handle_error = lambda *_: None
    served.seen, served.moods, served.pods, served.page = [], [], [], 500
    served.account = tmp_path / "account"
    served.account.mkdir()
    (served.account / "token").write_text(TOKEN + "\n")
    (served.account / "namespace").write_text("the-team")
    (served.account / "ca.crt").write_bytes((certificates / "ca.crt").read_bytes())
    threading.Thread(target=served.serve_forever, daemon=True).start()
    yield served
    served.shutdown()
    served.server_close()


def resolve(api, *arguments, timeout=1):
    """The cluster and the task that the resolver finds, or the error."""
    lines = cohort("kubernetes", f"server=https://127.0.0.1:{api.server_port}", f"account={api.account}",
                   f"timeout={timeout}", *arguments).splitlines()
    found = dict(line.split(" ", 1) for line in lines)
    if "error" in found:
        return found["error"]
    return json.loads(found["cluster"]), found["task"]


def test_pods_are_tasks(api):
    api.pods = [pod("worker-10", "10.0.0.20"), *[pod(f"worker-{i}", f"10.0.0.{10 + i}") for i in range(10)],
                pod("ps-0", "fd00::1"), pod("other-0", "10.0.0.9")]
    cluster, task = resolve(api, "pod=worker-9", "job:worker=role=worker", "job:ps=role=ps")
    assert cluster == {"ps": ["[fd00::1]:8470"], "worker": [f"10.0.0.{10 + i}:8470" for i in range(11)]}
    assert task == "worker:9"
    assert len(api.seen) == 2
    assert resolve(api, "pod=elsewhere", "job:ps=role=ps")[1] == ":0"


def test_ports_and_names(api):
    api.pods = many(2)
    api.pods[1]["spec"]["containers"][0]["ports"] = [{"name": "cohort", "containerPort": 4242}]
    assert resolve(api, "port_name=cohort", "names=1", "job:worker=role=worker")[0] == {
        "worker": ["worker-0.train.the-team.svc:8470", "worker-1.train.the-team.svc:4242"]}


def test_long_lists_come_in_pages(api):
    api.pods, api.page = many(7), 3
    cluster, task = resolve(api, "pod=worker-6", "job:worker=role=worker")
    assert cluster == {"worker": [f"10.0.1.{i}:8470" for i in range(7)]} and task == "worker:6"
    assert [query.get("continue") for query in api.seen] == [None, "at+/=&3", "at+/=&6"]
    # A page that is too old: the list begins anew.
    api.seen.clear()

    def expire(count):
        if count == 1:
            api.moods.append((410, "The provided continue parameter is too old"))
        return many(7)

    api.pods = expire
    assert resolve(api, "job:worker=role=worker")[0] == cluster
    assert [query.get("continue") for query in api.seen] == [None, "at+/=&3", None, "at+/=&3", "at+/=&6"]


def test_pods_that_are_not_there_yet_are_waited_for(api):
    api.pods = lambda asked: many(3) if asked > 2 else [*many(2), pod("worker-2")]
    assert resolve(api, "job:worker=role=worker", timeout=20)[0]["worker"][2] == "10.0.1.2:8470"
    assert len(api.seen) == 3
    # By their number, and after a server that is not well.
    api.seen.clear()
    api.moods = [(503, "etcd is not well"), (429, "too many requests")]
    api.pods = lambda asked: many(min(asked, 5) - 2)
    assert len(resolve(api, "tasks:worker=3", "job:worker=role=worker", timeout=20)[0]["worker"]) == 3


def test_what_is_missing_is_named(api):
    pending = pod("worker-3")
    pending["status"]["containerStatuses"] = [{"state": {"waiting": {"reason": "ImagePullBackOff"}}}]
    api.pods = [pod("worker-0", "10.0.0.1"), pod("worker-2", phase="Running"), pending]
    began = time.monotonic()
    error = resolve(api, "job:worker=role=worker", "job:ps=role=ps")
    assert 0.9 < time.monotonic() - began < 10
    assert error.startswith("DeadlineExceeded KubernetesClusterResolver: every pod of the cluster")
    assert "missing=ps: 0 pods; worker-1 not there; worker-2 Running without an IP; worker-3 Pending (ImagePullBackOff)" in error


def test_pods_that_are_gone_are_no_tasks(api):
    api.pods = [pod("a-0", "10.0.0.1", "Failed"), pod("b-0", "10.0.0.2"), pod("c-0", "10.0.0.3", "Succeeded"),
                pod("d-0", "10.0.0.4"), pod("e-0", "10.0.0.5")]
    api.pods[4]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    for each in api.pods:
        each["metadata"] |= {"labels": {"role": "worker"}, "ownerReferences": [{"kind": "Job", "name": "train"}]}
    assert resolve(api, "pod=d-0", "job:worker=role=worker") == ({"worker": ["10.0.0.2:8470", "10.0.0.4:8470"]}, "worker:1")


def test_a_pod_has_one_job(api):
    api.pods = many(2)
    error = resolve(api, "job:worker=role=worker", "job:ps=role=worker")
    assert error.startswith("InvalidArgument") and "pod=worker-0, tasks=ps:0, worker:0" in error


@pytest.mark.parametrize("change,code,text", [
    (lambda api: (api.account / "token").write_text("stolen"), "PermissionDenied", "status=401, message=Unauthorized"),
    (lambda api: (api.account / "namespace").write_text("others"), "PermissionDenied", "Role with the verb list on pods"),
    (lambda api: api.moods.append((400, "unable to parse")), "InvalidArgument", "label selectors are expected"),
    (lambda api: api.moods.append((404, "not found")), "NotFound", "namespace"),
    (lambda api: api.moods.append((302, "elsewhere")), "FailedPrecondition", "status=302"),
    (lambda api: api.moods.append((0, b"<html>")), "DataLoss", "a list of pods is expected"),
    (lambda api: api.moods.extend([(503, "etcd is not well")] * 9), "Unavailable", "503 etcd is not well"),
    (lambda api: (api.account / "token").unlink(), "FailedPrecondition", "automountServiceAccountToken"),
])
def test_refusals_say_why(api, change, code, text):
    api.pods = many(1)
    change(api)
    error = resolve(api, "job:worker=role=worker")
    assert error.startswith(f"{code} KubernetesClusterResolver: ") and text in error
    assert TOKEN not in error


def test_only_the_authority_of_the_service_account_is_trusted(api, certificates):
    api.pods = many(1)
    (api.account / "ca.crt").write_bytes((certificates / "stranger.crt").read_bytes())
    error = resolve(api, "job:worker=role=worker")
    assert error.startswith("FailedPrecondition") and "ca.crt has signed" in error
    assert not api.seen


def test_no_server_is_waited_for(api):
    lines = cohort("kubernetes", "server=https://127.0.0.1:1", f"account={api.account}", "timeout=0.6", "job:w=a=b")
    assert lines.startswith("error Unavailable") and "missing=Kubernetes at https://127.0.0.1:1: " in lines
