"""The manifests for Kubernetes: valid without a cluster, and their commands run as plain processes."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from conftest import ServerFactory, free_port
from support.command_line import children, semaphores_of, started, wait_until

FOLDER = Path(__file__).parents[1] / "docs" / "kubernetes"
PLAIN, JOB = FOLDER / "plain.yaml", FOLDER / "daskjob.yaml"
Spec = Mapping[str, Any]


def documents(path: Path) -> list[Spec]:
    return [*yaml.safe_load_all(path.read_text("utf-8"))]


def pods(node: Any) -> Iterator[Spec]:
    """Everything that has containers, anywhere in a document."""
    if isinstance(node, dict):
        if "containers" in node:
            yield node
        for value in node.values():
            yield from pods(value)


def containers(path: Path) -> list[Spec]:
    found = [pod for document in documents(path) for pod in pods(document)]
    return [each for pod in found for each in (*pod.get("initContainers", ()), *pod["containers"])]


@pytest.mark.parametrize("path", [PLAIN, JOB])
def test_each_container_replaces_the_entry_point_of_the_image(path: Path) -> None:
    assert 'ENTRYPOINT ["logreplay"]' in (FOLDER.parents[1] / "Dockerfile").read_text("utf-8")
    assert len(containers(path)) >= 3
    for container in containers(path):
        assert "args" not in container
        assert container["command"][0] in ("dask", "logreplay", "python")
        assert all(isinstance(word, str) for word in container["command"])


@pytest.mark.parametrize("path", [PLAIN, JOB])
def test_each_service_names_a_port_of_a_container(path: Path) -> None:
    """The schema of the operator takes texts only, and a text must be the name of a port."""
    named = {port["name"] for container in containers(path) for port in container.get("ports", ())}
    found = [document["spec"] for document in documents(path) if document["kind"] == "Service"]
    found += [document["spec"]["cluster"]["spec"]["scheduler"]["service"] for document in documents(path)
              if document["kind"] == "DaskJob"]  # fmt: skip
    assert [port["targetPort"] for service in found for port in service["ports"]] == ["tcp-comm"]
    assert "tcp-comm" in named


def test_the_pod_of_a_run_is_not_started_again() -> None:
    (job,) = (document for document in documents(PLAIN) if document["kind"] == "Job")
    assert (job["spec"]["backoffLimit"], job["spec"]["template"]["spec"]["restartPolicy"]) == (0, "Never")
    assert documents(JOB)[0]["spec"]["job"]["spec"]["restartPolicy"] == "Never"


@pytest.mark.parametrize("path", [PLAIN, JOB])
def test_each_pod_keeps_to_the_restricted_standard(path: Path) -> None:
    """Of Kubernetes, for pods: https://kubernetes.io/docs/concepts/security/pod-security-standards/"""
    found = [pod["securityContext"] for document in documents(path) for pod in pods(document)]
    assert (
        found
        == [{"runAsNonRoot": True, "runAsUser": 1000, "fsGroup": 1000, "seccompProfile": {"type": "RuntimeDefault"}}]
        * 3
    )
    for container in containers(path):
        assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def validate(path: Path) -> None:
    program = shutil.which("kubernetes-validate")
    if program is None:
        pytest.skip("kubernetes-validate is not installed")
    done = subprocess.run([program, "--strict", path], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_plain_manifests_are_valid() -> None:
    validate(PLAIN)


def test_the_pods_of_the_job_are_valid(tmp_path: Path) -> None:
    made = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"pod-{number}"}, "spec": pod}
        for number, pod in enumerate(pods(documents(JOB)[0]))
    ]
    (tmp_path / "pods.yaml").write_text(yaml.safe_dump_all(made))
    assert len(made) == 3
    validate(tmp_path / "pods.yaml")


def test_the_job_fits_the_schema_of_the_operator() -> None:
    """Its pods have the schema of Kubernetes itself, which the package only names."""
    found = importlib.util.find_spec("dask_kubernetes")
    if found is None or found.origin is None or importlib.util.find_spec("jsonschema") is None:
        pytest.skip("dask-kubernetes and jsonschema are not installed")
    import jsonschema  # type: ignore[import-untyped, import-not-found, unused-ignore]

    (path,) = Path(found.origin).parent.rglob("customresources/daskjob.yaml")
    schema = yaml.safe_load(path.read_text("utf-8"))["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    jsonschema.validate(documents(JOB)[0], without_references(schema))


def without_references(node: Any) -> Any:
    if isinstance(node, dict):
        return {} if "$ref" in node else {name: without_references(value) for name, value in node.items()}
    return [without_references(value) for value in node] if isinstance(node, list) else node


def program(words: list[str]) -> list[str]:
    """A command of the image as this environment has it."""
    modules = {"dask": "dask", "logreplay": "logreplay.cli.main"}
    return [sys.executable, *(["-m", modules[words[0]]] if words[0] in modules else []), *words[1:]]


@pytest.mark.slow
@pytest.mark.parametrize("path", [PLAIN, JOB])
def test_the_commands_of_the_manifests_make_a_run(path: Path, nginx: ServerFactory, tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="needs the extra `cluster`")
    server = nginx(server='location / { return 200 "hello"; }')
    columns = {"date": "2026-01-01", "latency": 0.01, "xfertime": 0, "thinktime": 0, "bytes": 5, "rc": 200, "op": "GET"}
    times = [f"12:00:{number:02}.000000" for number in range(20)]
    rows = pl.DataFrame({**columns, "time": times, "url": [f"/{number}" for number in range(20)]})
    rows.write_csv(tmp_path / "access.csv")
    port = free_port()
    here = {
        **{"tcp://logreplay-scheduler:8786": f"tcp://127.0.0.1:{port}", "$(DASK_WORKER_NAME)": "one"},
        **{"/shared": str(tmp_path), "http://shop.test:8080": server.url, "=shop.test": "=127.0.0.1"},
        **{"--tps=50000": "--tps=50", "--for=5m": "--for=1s", "wait_for_workers(6": "wait_for_workers(1"},
    }
    given = {"DASK_SCHEDULER_ADDRESS": f"tcp://127.0.0.1:{port}", "PYTHONPATH": ""}  # the operator sets the first one

    def begin(container: Spec, *more: str) -> "subprocess.Popen[bytes]":
        words = program([*container["command"]])
        for there, at in here.items():
            words = [word.replace(there, at) for word in words]
        env = os.environ | given | {each["name"]: each["value"] for each in container.get("env", ())}
        return started(*words, *more, cwd=tmp_path, env=env, start_new_session=True)

    by_name = {container["name"]: container for container in containers(path)}
    scheduler, worker = begin(by_name["scheduler"], "--host", f"tcp://127.0.0.1:{port}"), begin(by_name["worker"])
    waiting = by_name.get("wait-for-workers", documents(PLAIN)[3]["spec"]["template"]["spec"]["initContainers"][0])
    assert begin(waiting).wait(60) == 0
    assert begin(by_name.get("run") or by_name["job"]).wait(60) in (0, 3)  # 3: a busy machine
    assert pl.read_csv(tmp_path / "run.csv").height == 50
    semaphores = [path for pid in (worker.pid, *children(worker.pid)) for path in semaphores_of(pid)]
    assert semaphores
    for process in (worker, scheduler):
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)
    wait_until(lambda: not any(path.exists() for path in semaphores))
