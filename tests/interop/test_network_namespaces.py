"""Clusters that leave a machine: tasks in network namespaces of their own, on a bridge, by certificates and by a secret."""
import json
import os
import shutil
import subprocess
import time

import pytest
from support import program

COHORT = program("cohort")
HOSTS = {"chief": 1, "workers": 2, "ps": 3}


def ip(*arguments):
    return subprocess.run(["ip", *arguments], capture_output=True, text=True)


class Network:
    """Three hosts, chief, workers and ps, with addresses 10.213.7.N and fd00:213:7::N, on one bridge."""

    def __init__(self, folder):
        self.folder = folder
        self.mark = f"cohort{os.getpid()}"
        self.names = [self.mark + host for host in ("switch", *HOSTS)]
        self.started = []
        (folder / "hosts").write_text("127.0.0.1 localhost\n" + "".join(f"10.213.7.{i} {host}\n" for host, i in HOSTS.items()))
        for name in self.names:
            self.do("netns", "add", name)
        switch = self.names[0]
        self.do("-n", switch, "link", "add", "bridge0", "type", "bridge")
        self.do("-n", switch, "link", "set", "bridge0", "up")
        for host, number in HOSTS.items():
            there = self.mark + host
            self.do("-n", switch, "link", "add", f"to-{host}", "type", "veth", "peer", "name", "eth0", "netns", there)
            self.do("-n", switch, "link", "set", f"to-{host}", "master", "bridge0", "up")
            self.do("-n", there, "address", "add", f"10.213.7.{number}/24", "dev", "eth0")
            self.do("-n", there, "address", "add", f"fd00:213:7::{number}/64", "dev", "eth0", "nodad")
            for device in ("lo", "eth0"):
                self.do("-n", there, "link", "set", device, "up")

    @staticmethod
    def do(*arguments):
        done = ip(*arguments)
        if done.returncode != 0:
            raise PermissionError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")

    def start(self, host, *command, **environment):
        """A program on a host, which knows the others by name."""
        log = self.folder / f"log{len(self.started)}"
        inside = 'mount --bind "$0" /etc/hosts && exec "$@"'
        process = subprocess.Popen(
            ["ip", "netns", "exec", self.mark + host, "sh", "-c", inside, str(self.folder / "hosts"), *command],
            stdout=log.open("w"), stderr=subprocess.STDOUT, cwd=self.folder, env={**os.environ, **environment})
        self.started.append(process)
        return process, log

    def close(self):
        for process in self.started:
            process.kill()
            process.wait()
        for name in self.names:
            ip("netns", "delete", name)


@pytest.fixture
def network(tmp_path):
    if not shutil.which("ip") or COHORT is None:
        pytest.skip("needs the program ip (package iproute2) and build/bin/cohort")
    made = Network.__new__(Network)
    try:
        made.__init__(tmp_path)
    except PermissionError as error:
        made.close()
        pytest.skip(f"this machine does not let us make network namespaces: {error}")
    yield made
    made.close()


def comes(log, words, process, seconds=30):
    for _ in range(seconds * 20):
        if words in log.read_text():
            return True
        if process.poll() is not None:
            break
        time.sleep(0.05)
    return False


def security_of(way, folder):
    """Environment variables of a task, as a function of its job and number."""
    if way == "secret":
        (folder / "secret").write_text("s" * 40 + "\n")
        return lambda job, number: {"COHORT_SECRET_FILE": str(folder / "secret")}
    certificates = folder / "certs"
    subprocess.run([COHORT, "certs", "make", certificates, "--cluster", "training", "--job", "chief", "--job", "worker=2",
                    "--job", "ps"], check=True, capture_output=True)
    return lambda job, number: {"COHORT_CA_CERTIFICATE": f"{certificates}/ca.pem",
                                "COHORT_CERTIFICATE": f"{certificates}/{job}-{number}.pem",
                                "COHORT_PRIVATE_KEY": f"{certificates}/{job}-{number}.key"}


ADDRESSES = {"numbers": [f"10.213.7.{HOSTS[host]}" for host in ("chief", "workers", "ps")],
             "names": ["chief", "workers", "ps"],
             "ipv6": [f"[fd00:213:7::{HOSTS[host]}]" for host in ("chief", "workers", "ps")]}
LONG = os.environ.get("COHORT_TEST_NAMESPACES") == "all"


@pytest.mark.parametrize("way, kind", [("certificates", "names"), ("secret", "ipv6")] +
                         ([("certificates", "ipv6"), ("certificates", "numbers"), ("secret", "numbers"), ("secret", "names")] if LONG else []))
def test_the_quickstart_trains_in_three_namespaces(network, tmp_path, way, kind):
    chief, workers, ps = ADDRESSES[kind]
    cluster = {"chief": [f"{chief}:2222"], "worker": [f"{workers}:2222", f"{workers}:2223"], "ps": [f"{ps}:2222"]}
    environment = security_of(way, tmp_path)
    for job, number, host in (("ps", 0, "ps"), ("worker", 0, "workers"), ("worker", 1, "workers")):
        # The namespaces share a machine's memory: values are to cross the network all the same.
        process, log = network.start(host, COHORT, "server", "--cluster", json.dumps(cluster), "--job", job, "--task", str(number),
                                     "--transport", "grpc", "--data-root", "/usr/share/datasets", **environment(job, number))
        assert comes(log, "serving at", process), log.read_text()
    example = program("examples/quickstart")
    if example is None or not os.path.isdir("/usr/share/datasets/fashion-mnist"):
        command = [program("examples/cluster_from_scheduler")]
    else:
        command = [example, "--epochs", "1", "--cluster", "tf_config"]
    leader = {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": "chief", "index": 0}})}
    # Whoever has nothing to show is not let in, and a chief beyond loopback is told before it calls.
    process, log = network.start("chief", *command, **leader)
    assert process.wait(60) != 0 and "beyond this machine only with security" in log.read_text(), log.read_text()
    if way == "certificates":
        process, log = network.start("chief", *command, **leader, **environment("worker", 0))
        assert process.wait(60) != 0 and "the certificate of this very task is expected" in log.read_text(), log.read_text()
    process, log = network.start("chief", *command, **leader, **environment("chief", 0))
    assert process.wait(240) == 0, log.read_text()
    assert "gRPC to ps:0, worker:0, worker:1" in log.read_text(), log.read_text()
    if command[0] == example:
        assert (tmp_path / "model.keras").exists() and "val_accuracy" in log.read_text()
        assert float(log.read_text().rpartition("val_accuracy: ")[2].split()[0]) > 0.75


def test_an_address_of_another_host_is_named_with_ones_own(network):
    elsewhere = json.dumps({"worker": ["10.213.7.99:2222"], "ps": ["ps:2222"]})
    process, log = network.start("workers", COHORT, "server", "--cluster", elsewhere, "--job", "worker", "--task", "0", "--insecure")
    assert process.wait(30) != 0
    for words in ("must be one of this machine, which has", "10.213.7.2", "fd00:213:7::2", "address=10.213.7.99:2222", "--address"):
        assert words in log.read_text()
    # Behind a forwarded address it listens where it is told to.
    process, log = network.start("workers", COHORT, "server", "--cluster", elsewhere, "--job", "worker", "--task", "0", "--insecure",
                                 "--address", "0.0.0.0:2222")
    assert comes(log, "serving at", process), log.read_text()
