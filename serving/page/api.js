// OpenAI's API of the server that this page came from.

import { PcmReader } from "./pcm.js";
import { jsonEvents } from "./sse.js";

/** What the server answered instead of a result: its own message, fit to be shown. */
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.name = "ApiError";
    this.status = status;
  }
}

export class Api {
  /** key: a function that gives the API key, or "". */
  constructor(key = () => "") {
    this.key = key;
  }

  async models() {
    const response = await this.#request("/v1/models");
    return (await response.json()).data;
  }

  /** The chunks of a streamed chat completion. */
  async *chat(body, signal) {
    const streamed = { ...body, stream: true, stream_options: { include_usage: true } };
    const response = await this.#post("/v1/chat/completions", streamed, signal);
    for await (const chunk of jsonEvents(response.body)) {
      if (chunk.error) throw new ApiError(response.status, chunk.error.message);
      yield chunk;
    }
  }

  /** Samples at 24 kHz, as they are made. */
  async *speech(body, signal) {
    const pcm = { ...body, response_format: "pcm" };
    const response = await this.#post("/v1/audio/speech", pcm, signal);
    const reader = response.body.getReader();
    const samples = new PcmReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      yield samples.push(part.value);
    }
  }

  /** The inside of one answer, as an HTML page. */
  async trace(body, signal) {
    return (await this.#post("/v1/trace", body, signal)).text();
  }

  /** A WebSocket on /v1/realtime; browsers send a key as a subprotocol, as OpenAI's own do. */
  realtime(model) {
    const address = new URL(`/v1/realtime?model=${encodeURIComponent(model)}`, location.href);
    address.protocol = address.protocol.replace("http", "ws");
    const key = token(this.key());
    return new WebSocket(address, key ? ["realtime", `openai-insecure-api-key.${key}`] : "realtime");
  }

  #post(path, body, signal) {
    return this.#request(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
      signal,
    });
  }

  async #request(path, options = {}) {
    const key = this.key();
    const headers = { ...options.headers, ...(key && { Authorization: `Bearer ${key}` }) };
    const response = await fetch(path, { ...options, headers }).catch((error) => {
      if (error.name === "AbortError") throw error;
      throw new ApiError(0, "The server cannot be reached. Is it still running?");
    });
    if (!response.ok) throw new ApiError(response.status, await reason(response));
    return response;
  }
}

/** Text of any characters as those that a subprotocol may have; the server reads it back. */
export function token(text) {
  return encodeURIComponent(text).replace(/[()]/g, (mark) => `%${mark.charCodeAt(0).toString(16)}`);
}

async function reason(response) {
  const text = await response.text();
  try {
    return JSON.parse(text).error.message;
  } catch {
    return `The server answered ${response.status} ${response.statusText}.`;
  }
}
