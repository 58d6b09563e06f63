"""HEAD is answered wherever GET is: monitors and proxies ask so whether a server lives."""

from types import SimpleNamespace

import pytest

pytest.importorskip("serving.app", reason="the server lacks a package: requirements-dev.txt")

from starlette.testclient import TestClient

from serving.app import create_app
from serving.metrics import Metrics


async def voices() -> list[str]:
    return ["a"]


@pytest.fixture(scope="module")
def client():
    engine = SimpleNamespace(capacity=1024, active=[])
    service = SimpleNamespace(
        engine=engine, metrics=Metrics(), hears=True, voices=voices, busy=0, sockets=0,
    )
    return TestClient(create_app(service, None, False))


@pytest.mark.parametrize("path", ["/", "/health", "/metrics", "/v1/models", "/v1/models/muomni", "/app.js"])
def test_of_what_is_there(client, path):
    assert client.head(path).status_code == client.get(path).status_code == 200


@pytest.mark.parametrize("path", ["/v1/nothing", "/v1/models/other", "/nothing"])
def test_of_what_is_not(client, path):
    assert client.head(path).status_code == 404


def test_the_description_names_each_call_once(client):
    """Makers of clients read /openapi.json."""
    paths = client.get("/openapi.json").json()["paths"]
    calls = [(method, call["operationId"]) for of in paths.values() for method, call in of.items()]
    assert {method for method, _ in calls} == {"get", "post"}
    assert len({name for _, name in calls}) == len(calls)
    assert "/v1/chat/completions" in paths and "/v1/{rest}" not in paths
