"""What Prometheus scrapes at /metrics. One registry a server, so that tests may start several."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8)


class Metrics:
    """Counters and histograms of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        more = {"registry": self.registry}
        self.requests = Counter(
            "muomni_requests", "Answered requests", ["path", "status"], **more
        )
        self.prompt_tokens = Counter("muomni_prompt_tokens", "Tokens of prompts", **more)
        self.cached_tokens = Counter(
            "muomni_cached_tokens", "Tokens of prompts found in a kept cache", **more
        )
        self.tokens = Counter("muomni_generated_tokens", "Tokens of answers", **more)
        self.disconnects = Counter(
            "muomni_disconnects", "Requests whose client left before the end", **more
        )
        self.audio_seconds = Counter("muomni_spoken_seconds", "Seconds of speech made", **more)
        self.busy = Gauge("muomni_requests_in_flight", "Answers being made or waiting", **more)
        self.rows = Gauge("muomni_rows", "Answers being decoded", **more)
        self.sockets = Gauge("muomni_realtime_sessions", "Open realtime connections", **more)
        self.first_token = Histogram(
            "muomni_first_token_seconds", "From a request to its first token", buckets=SECONDS, **more
        )
        self.first_sound = Histogram(
            "muomni_first_sound_seconds", "From a request to its first sound", buckets=SECONDS, **more
        )

    def page(self) -> bytes:
        """Prometheus' text format."""
        return generate_latest(self.registry)
