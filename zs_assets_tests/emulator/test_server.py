"""The stand-in as a process: ready when it says so, gone with its parent, fast where asked to be."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import httpx
import pytest

from zs_assets.emulator import server as server_module
from zs_assets.emulator.server import LocalServer
from zs_assets.protocol.errors import BackendUnavailable
from zs_assets_tests.emulator.test_wire import BODY, KEY

AUTHORISED = {"authorization": f"Bearer {KEY}"}


def test_precomputed_replies_are_checked_once_then_the_same_for_every_text():
    with LocalServer("jev", seed=1, key=KEY, precomputed=True) as server, httpx.Client(trust_env=False) as client:

        def ask(body: dict, headers: dict[str, str] = AUTHORISED) -> httpx.Response:
            return client.post(f"{server.url}/v1/systemone", json=body, headers=headers)

        assert ask(BODY, {}).status_code == 403
        assert ask({**BODY, "model": "jev-9"}).status_code == 400
        first, second = ask(BODY), ask({**BODY, "state": {"text": "Quite another text."}})
        assert first.status_code == 200 and first.content == second.content
        fewer = {"label": {**BODY["questions"]["label"], "criteria": {"yes": None, "no": None}}}  # type: ignore[index]
        assert set(ask({**BODY, "questions": fewer}).json()["answers"]["label"]["probabilities"]) == {"yes", "no"}
        assert server.stats()["requests"] == 5


def test_the_process_takes_connections_as_soon_as_it_tells_its_address_and_hides_its_key():
    with LocalServer("jev", key=KEY) as server:
        assert server.url.startswith("http://127.0.0.1:")
        assert server.stats()["requests"] == 0
        assert KEY not in " ".join(map(str, server._process.args))  # type: ignore[arg-type]
        process = server._process
    assert process.poll() is not None


def test_the_process_ends_when_its_parent_is_gone():
    code = (
        "import os, time; from zs_assets.emulator.server import LocalServer; server = LocalServer().__enter__(); "
        "print(server.url, flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    url = parent.stdout.readline().strip()
    assert httpx.get(f"{url}/_emulator/stats", trust_env=False).status_code == 200
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 5
    with pytest.raises(httpx.ConnectError):
        while time.monotonic() < deadline:
            httpx.get(f"{url}/_emulator/stats", trust_env=False)
            time.sleep(0.05)


def test_a_missing_extra_is_one_sentence(monkeypatch):
    monkeypatch.setattr(server_module, "find_spec", lambda name: None)
    with pytest.raises(BackendUnavailable, match=r"pip install 'zs-assets\[emulator\]'"), LocalServer():
        pass


def test_a_wrong_fault_on_the_command_line_names_the_faults_there_are():
    command = [sys.executable, "-m", "zs_assets.emulator.server", "--faults", json.dumps([{"fault": "earthquake"}])]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 2
    assert "earthquake" in run.stderr and "dropped_connection" in run.stderr


def test_precomputed_replies_are_for_system_one_alone():
    command = [sys.executable, "-m", "zs_assets.emulator.server", "--profile", "deepseek", "--precomputed"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 2
    assert "System One profiles only" in run.stderr
