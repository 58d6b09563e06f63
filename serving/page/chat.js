// The open chat: sends questions, receives answers, keeps both. It knows nothing of the document.

import { dataUri, decode, encodeBlob } from "./base64.js";
import { answer, newChat, question, toMessages } from "./conversation.js";
import { fromPcm16 } from "./pcm.js";

const KEEP = 1000; // ms between two saves of an answer that is being made: leaving the page loses no more
const ENCODE = { dataUri, base64: encodeBlob };

/** Events: "leave" (this chat for another), "open" (it), "add", "change", "remove" (detail: the message), "busy", "saved". */
export class Chat extends EventTarget {
  #abort = null;

  constructor({ api, settings, player, store }) {
    super();
    Object.assign(this, { api, settings, player, store, chat: newChat() });
    player.addEventListener("end", () => this.#emit("busy"));
  }

  get messages() {
    return this.chat.messages;
  }

  /** An answer is being made or is still sounding. */
  get busy() {
    return this.#abort !== null || this.player.active;
  }

  open(chat = newChat()) {
    this.stop();
    this.#emit("leave");
    this.chat = chat;
    this.#emit("open");
  }

  async send(text, attachments = [], spoken = false) {
    if (this.busy) this.stop();
    this.add({ ...question(text, attachments), spoken });
    await this.#ask();
  }

  /** Asks again for the last answer. */
  async retry() {
    this.stop();
    while (this.messages.at(-1)?.role === "assistant") this.remove(this.messages.at(-1));
    if (this.messages.length) await this.#ask();
  }

  stop() {
    this.#abort?.abort();
    this.#abort = null;
    this.player.stop();
    this.#emit("busy");
  }

  /** Reads an answer aloud again. */
  async say(text) {
    this.stop();
    const { voice, speed, model } = this.settings.values;
    const abort = (this.#abort = new AbortController());
    await this.player.unlock();
    if (abort.signal.aborted) return;
    this.player.begin();
    this.#emit("busy");
    try {
      const body = { model, input: text, voice, speed };
      for await (const samples of this.api.speech(body, abort.signal)) this.player.push(samples);
    } finally {
      this.#ended(abort);
    }
  }

  /** The page that shows the inside of an answer. */
  async trace(message) {
    const before = this.messages.slice(0, this.messages.indexOf(message));
    return this.api.trace(await this.#body(before, false));
  }

  add(message) {
    this.messages.push(message);
    this.#emit("add", message);
    return message;
  }

  change(message) {
    this.#emit("change", message);
  }

  remove(message) {
    const place = this.messages.indexOf(message);
    if (place < 0) return;
    this.messages.splice(place, 1);
    this.#emit("remove", message);
  }

  async save(chat = this.chat) {
    if (!chat.messages.length || chat.forgotten) return;
    await this.#keep(chat);
    this.#emit("saved", chat);
  }

  async #keep(chat) {
    if (chat.forgotten) return;
    chat.updated = Date.now();
    await this.store.put(chat);
  }

  /** Leaves the open chat, which has been deleted: what is under way in it is not saved again. */
  forget() {
    this.chat.forgotten = true;
    this.open();
  }

  async #ask() {
    const chat = this.chat; // another may be open when the answer ends
    const voice = this.settings.get("speak") || this.messages.at(-1).spoken;
    const before = [...this.messages];
    const message = this.add({ ...answer(), busy: true });
    const abort = (this.#abort = new AbortController());
    const started = performance.now();
    const sounds = new AbortController(); // until this answer has sounded, or will not
    this.#emit("busy");
    this.save(); // the question is not lost if the page is left
    if (voice) {
      await this.player.unlock();
      if (!abort.signal.aborted) this.player.begin();
      const once = { once: true, signal: sounds.signal };
      this.player.addEventListener("start", () => this.#mark(message, "firstSound", started), once);
      this.player.addEventListener("end", () => sounds.abort(), once);
    }
    try {
      const body = await this.#body(before, voice);
      let kept = started;
      for await (const chunk of this.api.chat(body, abort.signal)) {
        this.#take(message, chunk, started);
        if (performance.now() - kept < KEEP) continue;
        kept = performance.now();
        this.#keep(chat).catch(() => {}); // the last save tells
      }
    } catch (error) {
      if (!abort.signal.aborted) message.error = error.message;
      sounds.abort();
    }
    message.stopped = abort.signal.aborted;
    message.busy = false;
    this.#ended(abort);
    this.change(message);
    await this.save(chat);
  }

  #ended(abort) {
    if (this.#abort !== abort) return; // another answer has begun
    this.#abort = null;
    this.player.finish();
    this.#emit("busy");
  }

  #take(message, { choices, notices }, started) {
    if (notices) message.notices = notices;
    const delta = choices?.[0]?.delta;
    if (!delta) return; // usage alone
    const text = delta.content || delta.audio?.transcript || "";
    if (text) this.#mark(message, "firstWord", started);
    message.thinking += delta.reasoning_content ?? "";
    message.text += text;
    if (delta.audio?.data) this.player.push(fromPcm16(decode(delta.audio.data)));
    this.change(message);
  }

  #mark(message, name, started) {
    message[name] ??= Math.round(performance.now() - started);
    this.change(message);
  }

  async #body(messages, voice) {
    const { model, voice: name, speed, thinking } = this.settings.values;
    const body = { model, messages: await toMessages(messages, ENCODE) };
    if (thinking === "off") body.think = false;
    if (!voice) return body;
    const audio = { voice: name, format: "pcm16", ...(speed !== 1 && { speed }) };
    return { ...body, modalities: ["text", "audio"], audio };
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
