"""Redis, PostgreSQL and an S3 stand-in for a test: each on a free port, in a folder that is gone afterwards.

Each is a context manager that skips the test, with the reason, where its program is missing.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

STARTS_WITHIN_S = 60
STOPS_WITHIN_S = 20


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(
    command: Sequence[str | Path],
    log: Path,
    *,
    environment: dict[str, str] | None = None,
    folder: Path | None = None,
    user: int | None = None,
    stop_with: signal.Signals = signal.SIGTERM,
) -> Iterator[subprocess.Popen[bytes]]:
    """A process and all it starts, ended with the block. Its output goes to `log`.

    A session of its own keeps an interrupt of the tests away from it, and lets it be ended as a whole.
    """
    with open(log, "wb") as output:
        process = subprocess.Popen(
            [str(word) for word in command],
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=environment,
            cwd=folder,
            user=user,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.send_signal(stop_with)
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOPS_WITHIN_S)
        with suppress(ProcessLookupError):  # what it left behind, in its own process group
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_until(ready: Callable[[], bool], process: subprocess.Popen[bytes], log: Path, what: str) -> None:
    """Returns when ready; fails with the end of the log when the process ends, or takes too long."""
    deadline = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        with suppress(OSError):
            if ready():
                return
        time.sleep(0.1)
    pytest.fail(f"{what} did not start: {log.read_text(errors='replace')[-2000:]}")


def _answers(port: int, request: bytes, reply: bytes) -> bool:
    with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
        connection.sendall(request)
        return connection.recv(64).startswith(reply)


@contextmanager
def redis_service() -> Iterator[str]:
    """Yields redis://127.0.0.1:PORT, without a database number."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed (apt-get install redis-server)")
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="redis_") as name:
        log = Path(name) / "redis.log"
        command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", name]
        with running(command, log) as process:
            wait_until(lambda: _answers(port, b"PING\r\n", b"+PONG"), process, log, "Redis")
            yield f"redis://127.0.0.1:{port}"


@dataclass(frozen=True)
class PostgresService:
    """Where an empty database is; without a password of its own, any will do."""

    port: int
    host: str = "127.0.0.1"
    user: str = "dagster"
    database: str = "postgres"


def _postgres_programs() -> Path | None:
    """The folder with initdb and postgres: of the newest version that Debian installed, or on PATH."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    if versions:
        return versions[-1].parent
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found and shutil.which("postgres") else None


def _server_user() -> int | None:
    """PostgreSQL refuses to run as root; None: as we are."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name).pw_uid
    pytest.skip("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")


@contextmanager
def postgres_service(password: str | None = None) -> Iterator[PostgresService]:
    """Yields an empty database server of its own; None: every connection of this machine is trusted."""
    programs = _postgres_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed (apt-get install postgresql)")
    user, service = _server_user(), PostgresService(free_port())
    with tempfile.TemporaryDirectory(prefix="postgres_") as name:
        folder = Path(name)
        if user is not None:
            os.chown(folder, user, -1)
        data = folder / "data"
        initdb = [programs / "initdb", "-D", data, "-U", service.user, "--no-sync", "-E", "UTF8"]
        if password is None:
            initdb += ["-A", "trust"]
        else:
            (folder / "password").write_text(password)
            initdb += ["-A", "scram-sha-256", "--pwfile", folder / "password"]
        made = subprocess.run(list(map(str, initdb)), user=user, cwd=name, capture_output=True, text=True, timeout=120)
        if made.returncode != 0:
            pytest.fail(f"initdb failed: {made.stderr[-2000:]}")
        log = folder / "postgres.log"
        command = [programs / "postgres", "-D", data, "-p", str(service.port), "-h", service.host, "-k", name, "-F"]
        # SIGINT is PostgreSQL's fast shutdown: SIGTERM would wait for every client to leave.
        with running(command, log, user=user, folder=folder, stop_with=signal.SIGINT) as process:
            wait_until(
                lambda: "ready to accept connections" in log.read_text(errors="replace"), process, log, "PostgreSQL"
            )
            yield service


@contextmanager
def s3_service(bucket: str) -> Iterator[dict[str, str]]:
    """An S3 of moto with one empty bucket, in a process of its own; yields the environment that clients need."""
    pytest.importorskip("moto", reason="needs moto: pip install 'moto[server]'")
    pytest.importorskip("flask", reason="needs moto's server: pip install 'moto[server]'")
    import sys

    port = free_port()
    address = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory(prefix="s3_") as name:
        log = Path(name) / "moto.log"
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        with running(command, log) as process:

            def ready() -> bool:
                with urllib.request.urlopen(f"{address}/moto-api/", timeout=2) as reply:
                    return bool(reply.status == 200)

            wait_until(ready, process, log, "The S3 stand-in")
            make = urllib.request.Request(f"{address}/{bucket}", method="PUT")
            urllib.request.urlopen(make, timeout=10).close()
            _forget_connections()
            yield {
                "AWS_ENDPOINT_URL": address,
                "AWS_ACCESS_KEY_ID": "testing",
                "AWS_SECRET_ACCESS_KEY": "testing",
                "AWS_DEFAULT_REGION": "us-east-1",
            }
            _forget_connections()


def _forget_connections() -> None:
    """fsspec keeps one file system per set of arguments: with an address from the environment, the old one."""
    with suppress(ImportError):
        from s3fs import S3FileSystem

        S3FileSystem.clear_instance_cache()
