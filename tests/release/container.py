"""The instructions of a Dockerfile without Docker: carried out in a Debian of their own, with chroot in namespaces."""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from string import Template

BASE = "trixie"
"""The Debian of the base image, with its Python 3.13."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ENTER = """
mount --bind "$0" "$0"; mount -t proc proc "$0/proc"; mount --rbind /dev "$0/dev"
if [ "$READ_ONLY" ]; then
    mount -o remount,bind,ro "$0"
    mount -t tmpfs -o mode=1777 tmp "$0/tmp"
    mount -t tmpfs -o "uid=$IMAGE_USER" data "$0/data"
fi
ip link set lo up || true
exec chroot --userspec="$IMAGE_USER:0" "$0" /bin/sh -c 'cd "$WORKDIR" && exec "$@"' sh "$@"
"""


class Image:
    """A root folder in which a Dockerfile is carried out.

    Attributes:
        labels: what the image says about itself.
        entry: the words that a container starts, before those of `docker run`.
    """

    def __init__(self, root: Path) -> None:
        self._root = self._last = root
        self._variables = {"PATH": PATH}
        self._user, self._folder = "0", "/"
        self.labels: dict[str, str] = {}
        self.entry: list[str] = []

    def build(self, context: Path, arguments: Mapping[str, str]) -> None:
        """Carry out the instructions, each named stage in a root folder beside the last; an unknown one is an error."""
        text = re.sub(r"^\s*#.*\n", "", (context / "Dockerfile").read_text("utf-8"), flags=re.M)
        arguments_known: dict[str, str] = {}
        for line in filter(None, text.replace("\\\n", " ").splitlines()):
            name, _, rest = line.partition(" ")
            known = self._variables | arguments_known
            words = rest.split() if name in ("RUN", "FROM") else shlex.split(Template(rest).substitute(known))
            match name:
                case "ARG":
                    key, _, default = words[0].partition("=")
                    arguments_known[key] = arguments.get(key, default)
                case "FROM":
                    arguments_known.clear()
                    self._root = self._last.with_name(words[2]) if words[1:2] == ["AS"] else self._last
                    self._begin()
                case "LABEL":
                    self.labels |= dict(word.split("=", 1) for word in words)
                case "ENV":
                    self._variables |= dict(word.split("=", 1) for word in words)
                case "COPY" if words[0].startswith("--from="):
                    stage = self._last.with_name(words[0].partition("=")[2])
                    shutil.copytree(stage / words[1][1:], self._root / words[2][1:], symlinks=True)
                case "COPY":
                    self._copy(context, words[1])
                case "RUN":
                    self._step(["/bin/sh", "-c", rest], arguments_known)
                case "USER":
                    self._user = words[0]
                case "WORKDIR":
                    self._folder = words[0]
                    (self._root / words[0][1:]).mkdir(exist_ok=True)
                case "ENTRYPOINT":
                    self.entry = json.loads(rest)
                case _:
                    raise ValueError(f"{line}: no such instruction is known here")

    def _begin(self) -> None:
        """Install Debian with a Python at the place where the base image has it."""
        packages = "ca-certificates,iproute2,python3,python3-venv"
        subprocess.run(
            ["debootstrap", "--variant=minbase", f"--include={packages}", BASE, self._root],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        for name in ("resolv.conf", "hosts", "pip.conf", "ssl/certs/ca-certificates.crt"):
            if Path("/etc", name).exists():
                shutil.copy(Path("/etc", name), self._root / "etc" / name)
        self._step(["python3", "-m", "venv", "/usr/local"], {})

    def _copy(self, context: Path, to: str) -> None:
        """Copy what .dockerignore lets through."""
        lines = (context / ".dockerignore").read_text("utf-8").splitlines()
        for name in [line[1:] for line in lines if line.startswith("!")]:
            source, target = context / name, self._root / to[1:] / name
            target.parent.mkdir(exist_ok=True)
            (shutil.copytree if source.is_dir() else shutil.copy)(source, target)

    def _step(self, words: list[str], variables: Mapping[str, str]) -> None:
        process = self._process(words, variables, "", network=True)
        said = process.communicate(timeout=900)
        assert process.returncode == 0, said

    def start(self, *words: str, read_only: bool = False, user: str = "") -> "subprocess.Popen[str]":
        """Start a container, like `docker run --network none`; read_only gives it a temporary /tmp and /data."""
        return self._process([*self.entry, *words], {"READ_ONLY": "1"} if read_only else {}, user)

    def _process(
        self, words: list[str], variables: Mapping[str, str], user: str, network: bool = False
    ) -> "subprocess.Popen[str]":
        given = {"HOME": "/", "READ_ONLY": "", "WORKDIR": self._folder, "IMAGE_USER": user or self._user}
        namespaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child", *([] if network else ["--net"])]
        return subprocess.Popen(
            [*namespaces, "sh", "-ec", ENTER, str(self._root), *words],
            env={**given, **self._variables, **variables},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
