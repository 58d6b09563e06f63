# The server of μOmni on a CPU: docker compose up (docs/scale.md)
FROM python:3.12-slim

# g++ compiles the decode step when the first answer asks for it
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 --create-home muomni

WORKDIR /app
COPY requirements.txt requirements-serve.txt ./
RUN pip install --no-cache-dir -r requirements-serve.txt
COPY --chown=muomni . .
RUN chown muomni /app/checkpoints/*

USER 1000
EXPOSE 8000
HEALTHCHECK --start-period=60s CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/health')"]
ENTRYPOINT ["python", "serve.py", "--host", "0.0.0.0"]
