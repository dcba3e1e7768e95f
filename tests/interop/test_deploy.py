"""The manifests of examples/deploy by the schemas of Kubernetes and Kubeflow, and what they take from the project."""
import json
import os
import re
import subprocess

import kubernetes_validate
import pytest
import yaml

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
DEPLOY = os.path.join(ROOT, "examples", "deploy")


def text_of(*path):
    with open(os.path.join(DEPLOY, *path)) as file:
        return file.read()


def resources(name):
    return list(yaml.safe_load_all(text_of("kubernetes", name)))


def validate(resource):
    kubernetes_validate.validate(resource, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.parametrize("name", ["access.yaml", "cluster.yaml"])
def test_resources_are_what_kubernetes_takes(name):
    for resource in resources(name):
        validate(resource)


def test_a_mistake_would_be_found():
    for key, value in (("replicas", "three"), ("podManagmentPolicy", "Parallel")):
        broken = next(each for each in resources("cluster.yaml") if each["kind"] == "StatefulSet")
        broken["spec"][key] = value
        with pytest.raises(kubernetes_validate.ValidationError):
            validate(broken)


def test_the_tasks_of_the_file_are_the_pods():
    by_kind = {}
    for each in resources("cluster.yaml"):
        by_kind.setdefault(each["kind"], {})[each["metadata"]["name"]] = each
    cluster = json.loads(by_kind["ConfigMap"]["train"]["data"]["tf_config.json"])["cluster"]
    assert set(cluster) == {"chief", "ps", "worker"}
    for job, addresses in cluster.items():
        name = f"train-{job}"
        spec, service = by_kind["StatefulSet"][name]["spec"], by_kind["Service"][name]["spec"]
        labels = spec["template"]["metadata"]["labels"]
        assert spec["serviceName"] == name and service["clusterIP"] == "None"
        assert spec["selector"]["matchLabels"] == labels == service["selector"]
        container = spec["template"]["spec"]["containers"][0]
        port = container["ports"][0]["containerPort"]
        assert port == service["ports"][0]["port"]
        assert addresses == [f"{name}-{i}.{name}:{port}" for i in range(spec["replicas"])]
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        assert container["env"][0] == {"name": "TF_CONFIG_FILE", "value": mounts["cluster"] + "/tf_config.json"}
        said = {each["name"]: each.get("value", "") for each in container["env"]}
        assert said["COHORT_CA_CERTIFICATE"] == mounts["certificates"] + "/ca.pem"
        secret = {each["name"]: each for each in spec["template"]["spec"]["volumes"]}["certificates"]["secret"]
        assert secret["secretName"] == f"train-{job}-certificates", "a job has its own certificates alone"
        if job != "chief":
            assert f"cohort server --job {job} " in container["command"][2]
            assert f'COHORT_CERTIFICATE="{mounts["certificates"]}/{job}-${{POD_NAME##*-}}.pem"' in container["command"][2]
        else:
            assert said["COHORT_CERTIFICATE"] == mounts["certificates"] + "/chief-0.pem"
            assert said["COHORT_PRIVATE_KEY"] == mounts["certificates"] + "/chief-0.key"
    account = by_kind["StatefulSet"]["train-chief"]["spec"]["template"]["spec"]["serviceAccountName"]
    service_account, role, binding = resources("access.yaml")
    assert account == service_account["metadata"]["name"] == binding["subjects"][0]["name"]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert role["rules"] == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]


def test_the_tfjob_is_what_kubeflow_takes():
    from kubernetes.client import ApiClient, models
    from kubeflow.training import models as kubeflow
    vars(models).update({name: model for name, model in vars(kubeflow).items() if name.startswith("KubeflowOrg")})
    client = ApiClient()
    job, = resources("tfjob.yaml")
    read = client._ApiClient__deserialize(job, kubeflow.KubeflowOrgV1TFJob)
    # What the models do not know is not written again.
    assert client.sanitize_for_serialization(read) == job
    assert (job["apiVersion"], job["kind"]) == ("kubeflow.org/v1", "TFJob")
    assert set(job["spec"]["tfReplicaSpecs"]) == {"Chief", "PS", "Worker"}
    for replica in job["spec"]["tfReplicaSpecs"].values():
        assert [each["name"] for each in replica["template"]["spec"]["containers"]] == ["tensorflow"]
        container = replica["template"]["spec"]["containers"][0]
        assert container["ports"][0]["name"] == "tfjob-port"
        assert container["env"] == [{"name": "COHORT_SECRET_FILE", "value": container["volumeMounts"][0]["mountPath"] + "/secret"}]
        validate({"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "x"}, "template": replica["template"]})


def test_the_script_for_slurm_starts_what_the_example_takes(tmp_path):
    script = os.path.join(DEPLOY, "slurm", "train.sbatch")
    (tmp_path / "srun").write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    os.chmod(tmp_path / "srun", 0o755)
    started = subprocess.run(["bash", script, "program", "--flag"], capture_output=True, text=True, check=True,
                             env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}).stdout.split()
    secret = tmp_path / ".cohort_secret"
    assert len(secret.read_text()) > 32 and secret.stat().st_mode & 0o077 == 0
    options = dict(zip(started[started.index("--flag") + 1::2], started[started.index("--flag") + 2::2]))
    tasks = int(re.search(r"^#SBATCH --ntasks=(\d+)$", text_of("slurm", "train.sbatch"), re.MULTILINE)[1])
    assert 1 + int(options["--workers"]) + int(options["--ps"]) == tasks


def test_the_container_file_calls_what_is_there():
    commands = [line for line in text_of("Containerfile").splitlines() if line.startswith("RUN ")]
    assert commands[0] == "RUN ./tools/setup --without-cuda"
    assert "--without-cuda" in open(os.path.join(ROOT, "tools", "setup")).read()
    preset = re.search(r"cmake --preset (\w+) .*cmake --install build ", commands[1])[1]
    with open(os.path.join(ROOT, "CMakePresets.json")) as file:
        assert preset in [each["name"] for each in json.load(file)["configurePresets"]]
