"""HEAD is answered wherever GET is: monitors and proxies ask so whether a server lives."""

from types import SimpleNamespace

import pytest

pytest.importorskip("serving.app", reason="the server lacks a package: requirements-dev.txt")

from starlette.testclient import TestClient

from serving.app import create_app
from serving.metrics import Metrics

ASKED = {"messages": [{"role": "user", "content": "Hi"}]}
metrics = Metrics()


async def voices() -> list[str]:
    return ["a"]


@pytest.fixture(scope="module")
def client():
    engine = SimpleNamespace(capacity=1024, active=[])
    service = SimpleNamespace(
        engine=engine, metrics=metrics, hears=True, voices=voices, busy=0, sockets=0,
    )
    client = TestClient(create_app(service, None, False), raise_server_exceptions=False)
    client.service = service
    return client


@pytest.mark.parametrize("path", ["/", "/health", "/metrics", "/v1/models", "/v1/models/muomni", "/app.js"])
def test_of_what_is_there(client, path):
    assert client.head(path).status_code == client.get(path).status_code == 200


@pytest.mark.parametrize("path", ["/v1/nothing", "/v1/models/other", "/nothing"])
def test_of_what_is_not(client, path):
    assert client.head(path).status_code == 404


@pytest.mark.parametrize(("method", "path", "status", "label"), [
    ("GET", "/app.js", 200, "page"),
    ("GET", "/v1/models/muomni", 200, "/v1/models/{name}"),
    ("GET", "/v1/nothing", 404, "unknown"),
    ("GET", "/nothing", 404, "unknown"),
    ("POST", "/v1/trace", 500, "/v1/trace"),
])
def test_each_answer_is_counted(client, method, path, status, label):
    assert counted(client, method, path, status, label) == 1


def test_so_is_each_refusal(client):
    guarded = TestClient(create_app(client.service, "a key", True), base_url="http://localhost")
    assert counted(guarded, "GET", "/v1/models", 401, "unknown") == 1
    assert counted(guarded, "GET", "/health", 403, "unknown", Origin="http://elsewhere") == 1


def counted(client, method: str, path: str, status: int, label: str, **headers) -> float:
    """By how much the counter of a path and status grows with a request."""
    def count() -> float:
        labels = {"path": label, "status": str(status)}
        return metrics.registry.get_sample_value("muomni_requests_total", labels) or 0.0

    before = count()
    assert client.request(method, path, json=ASKED, headers=headers).status_code == status
    return count() - before


def test_the_description_names_each_call_once(client):
    """Makers of clients read /openapi.json."""
    paths = client.get("/openapi.json").json()["paths"]
    calls = [(method, call["operationId"]) for of in paths.values() for method, call in of.items()]
    assert {method for method, _ in calls} == {"get", "post"}
    assert len({name for _, name in calls}) == len(calls)
    assert "/v1/chat/completions" in paths and "/v1/{rest}" not in paths
