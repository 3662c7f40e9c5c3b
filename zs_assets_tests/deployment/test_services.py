"""The stand-ins of services answer their own clients, and are gone afterwards."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

import pytest

from zs_assets_tests.deployment.services import postgres_service, redis_service, s3_service


def is_open(port: int | None) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port or 0)) == 0


def test_redis_keeps_what_it_is_given_until_it_stops():
    redis = pytest.importorskip("redis")
    with redis_service() as address:
        with redis.Redis.from_url(f"{address}/0") as client:
            client.set("key", "value")
            assert client.get("key") == b"value"
        port = urlsplit(address).port
        assert is_open(port)
    assert not is_open(port)


def test_postgres_answers_a_query_until_it_stops():
    psycopg2 = pytest.importorskip("psycopg2")
    with postgres_service() as server:
        connection = psycopg2.connect(
            host=server.host, port=server.port, user=server.user, dbname=server.database, password="any"
        )
        cursor = connection.cursor()
        cursor.execute("select 6 * 7")
        assert cursor.fetchone() == (42,)
        connection.close()
    assert not is_open(server.port)


def test_the_lake_is_read_and_written_on_s3(monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("s3fs", reason="needs the extra s3")
    from upath import UPath

    with s3_service("lake") as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        path = UPath("s3://lake/zs/part.parquet")
        path.write_bytes(b"bytes")
        assert path.read_bytes() == b"bytes"
        assert [found.name for found in UPath("s3://lake/zs").iterdir()] == ["part.parquet"]
