// A connection to /v1/realtime: OpenAI's events, and the microphone's way to the server.

import { encode, dataUri } from "./base64.js";
import { concat, toPcm16 } from "./pcm.js";

export const RATE = 24_000; // Hz, both ways
const HEARD = 30; // seconds of a recording that the server hears
const BEFORE = 1000; // ms of sound kept while the way is shut, so that no first syllable is lost

/** Events: each of the server's, by its type (detail: the event); "close" (detail: the reason). */
export class Realtime extends EventTarget {
  #socket;
  #created = false; // the session, by the server's word
  #forward = true;
  #kept = []; // frames held back
  #sent = 0; // ms of sound the server has been given
  #offset = 0; // the page's clock when the sample at 0 ms would have been spoken
  #told; // the session is open, and the server knows all messages so far

  constructor(socket) {
    super();
    this.#socket = socket;
    socket.onmessage = ({ data }) => {
      const event = JSON.parse(data);
      this.#created ||= event.type === "session.created";
      this.dispatchEvent(new CustomEvent(event.type, { detail: event }));
    };
    socket.onclose = ({ reason }) => {
      const lost = this.#created ? "The connection to the server was lost." : "The server takes no spoken conversation.";
      this.dispatchEvent(new CustomEvent("close", { detail: reason || lost }));
    };
    this.#told = this.#opened();
    this.#told.catch(() => {}); // "close" says it, too
  }

  #opened() {
    return new Promise((resolve, reject) => {
      this.addEventListener("session.created", resolve, { once: true });
      this.addEventListener("close", ({ detail }) => reject(new Error(detail)), { once: true });
    });
  }

  send(event) {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(event));
  }

  close() {
    this.#socket.onclose = null;
    this.#socket.close();
  }

  /** The page finds out who may interrupt, so the server only finds the turns. */
  configure(voice, speed) {
    const turn_detection = { type: "server_vad", create_response: false, interrupt_response: false };
    const output = { voice: voice || undefined, speed };
    const session = { type: "realtime", output_modalities: ["audio"], audio: { input: { turn_detection }, output } };
    this.send({ type: "session.update", session });
  }

  /** Tells the server messages of the chat, once it listens and in the order of the calls. */
  tell(...messages) {
    this.#told = this.#told.then(async () => {
      for (const message of messages) await this.#item(message);
    });
    return this.#told;
  }

  /** One message as an item; what the server cannot take is left out. */
  async #item({ role, text, attachments = [] }) {
    const content = [];
    for (const { kind, blob } of attachments) {
      if (!blob || kind === "video") continue;
      const audio = kind === "audio" ? await pcmOf(blob) : null;
      if (kind === "image") content.push({ type: "input_image", image_url: await dataUri(blob) });
      else if (audio) content.push({ type: "input_audio", audio });
    }
    if (text) content.push({ type: role === "user" ? "input_text" : "output_text", text });
    if (content.length) {
      this.send({ type: "conversation.item.create", item: { type: "message", role, content } });
    }
  }

  /** One frame of the microphone, which ended at `at` on the page's clock. */
  hear(samples, at) {
    this.#kept.push(samples);
    if (this.#forward) return this.#flush(at);
    while (this.#keptMs() > BEFORE) this.#kept.shift();
  }

  forward() {
    this.#forward = true;
  }

  /** Holds the microphone back, and has what is not yet a turn forgotten. */
  hold() {
    this.#forward = false;
    this.#kept = [];
    this.send({ type: "input_audio_buffer.clear" });
  }

  /** A time of the server's (ms of sound) on the page's clock. */
  when(milliseconds) {
    return this.#offset + milliseconds;
  }

  #flush(at) {
    const samples = concat(this.#kept);
    this.#kept = [];
    this.#sent += (1000 * samples.length) / RATE;
    this.#offset = at - this.#sent;
    this.send({ type: "input_audio_buffer.append", audio: encode(toPcm16(samples)) });
  }

  #keptMs() {
    return (1000 * this.#kept.reduce((sum, frame) => sum + frame.length, 0)) / RATE;
  }
}

/** A recording as it goes over the wire; null where the browser cannot decode it. */
async function pcmOf(blob) {
  const context = new OfflineAudioContext(1, 1, RATE); // decodes to its own rate
  const decoded = await context.decodeAudioData(await blob.arrayBuffer()).catch(() => null);
  return decoded && encode(toPcm16(decoded.getChannelData(0).subarray(0, HEARD * RATE)));
}
