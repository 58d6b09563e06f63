// A spoken conversation: the microphone, the server's turns and the player, as turns.js decides.

import { Activity } from "./activity.js";
import { decode } from "./base64.js";
import { answered, question } from "./conversation.js";
import { Microphone } from "./microphone.js";
import { fromPcm16 } from "./pcm.js";
import { RATE, Realtime } from "./realtime.js";
import { SpokenAnswer, SpokenTurns } from "./spoken.js";
import { Turns } from "./turns.js";

/** Events: "state" (detail: { state, level }), "open", "error" (detail: its message), "close" (detail: a reason to be shown, or ""). */
export class HandsFree extends EventTarget {
  muted = false;
  #realtime = null;
  #answer = null; // to what the user said: a SpokenAnswer
  #silencing = false; // the player is being stopped: its "end" is not the answer's
  #said = 0; // when the user's last words ended
  #asked = 0; // typed messages, and answers that were asked for

  constructor({ api, settings, player, chat }) {
    super();
    Object.assign(this, { api, settings, player, chat });
    this.user = new SpokenTurns(chat);
    this.microphone = new Microphone(RATE, (samples) => this.#frame(samples), () => this.stop("The microphone is gone."));
    player.addEventListener("start", () => this.#started());
    player.addEventListener("end", () => this.#heard());
    settings.addEventListener("change", () => this.#configure());
  }

  get open() { return this.#realtime !== null; }

  async start() {
    if (this.open) return;
    this.chat.stop();
    this.turns = new Turns();
    this.activity = new Activity();
    this.#answer = null;
    const realtime = (this.#realtime = new Realtime(this.api.realtime(this.settings.get("model"))));
    try {
      this.#listen();
      const opened = realtime.tell(...answered(this.chat.messages));
      await this.player.unlock();
      await opened;
      this.#configure();
      await this.microphone.start();
    } catch (error) {
      return this.#realtime === realtime && this.stop(error.message);
    }
    if (!this.open) this.microphone.stop(); // left while the browser asked
    if (this.#realtime !== realtime) return;
    this.#emit("open");
    this.#show();
  }

  stop(reason = "") {
    if (!this.open) return;
    const realtime = this.#realtime;
    this.#realtime = null;
    this.microphone.stop();
    realtime.close();
    this.player.stop();
    this.#settleAnswer(true);
    if (this.user.close() && this.#answer && !this.#answer.message.text) this.chat.remove(this.#answer.message);
    this.#emit("close", reason);
    this.chat.save();
  }

  /** A message typed, or a picture shown, in the midst of it. */
  async say(text, attachments) {
    const actions = text ? this.turns.typed() : [];
    this.#apply(actions.filter((action) => action !== "respond"));
    const message = this.chat.add(question(text, attachments));
    this.user.end();
    const number = ++this.#asked;
    await this.#realtime.tell(message).catch(() => {}); // its end is told by "close"
    if (!this.open || number !== this.#asked) return; // the next one's answer is to this, too
    if (!actions.includes("respond") || this.turns.state !== "thinking") return;
    this.#said = performance.now();
    this.#respond();
  }

  /** Silences the answer that is under way. */
  hush() {
    const actions = this.turns.hushed();
    this.#apply(actions);
    if (actions.length) this.user.end();
  }

  #configure() {
    this.#realtime?.configure(this.settings.get("voice"), this.settings.get("speed"));
  }

  #frame(samples) {
    if (!this.open) return;
    if (this.muted) samples.fill(0);
    const at = performance.now();
    const ms = (1000 * samples.length) / RATE;
    this.#apply(this.turns.frame(this.activity.push(samples, ms / 1000), at, ms));
    this.#realtime.hear(samples, at);
  }

  #listen() {
    const on = (type, act) => this.#realtime.addEventListener(type, ({ detail }) => this.open && act(detail));
    on("input_audio_buffer.speech_started", (event) => {
      this.#apply(this.turns.speechStarted(this.#realtime.when(event.audio_start_ms)));
    });
    on("input_audio_buffer.speech_stopped", (event) => {
      const at = this.#realtime.when(event.audio_end_ms);
      if (this.turns.state === "hearing") this.#said = at;
      this.#apply(this.turns.speechStopped(at));
    });
    on("input_audio_buffer.committed", ({ item_id }) => this.#committed(item_id));
    on("conversation.item.input_audio_transcription.completed", (event) => this.#transcript(event));
    on("conversation.item.input_audio_transcription.failed", ({ item_id, error }) => {
      this.#emit("error", error.message);
      this.#transcript({ item_id, transcript: "" });
    });
    on("response.created", ({ response }) => {
      if (this.#answer && this.#answer.name === response.metadata?.answer) this.#answer.response = response.id;
    });
    on("response.output_audio_transcript.delta", (event) => this.#words(event));
    on("response.output_text.delta", (event) => this.#words(event));
    on("response.output_audio.delta", (event) => this.#sound(event));
    on("response.done", ({ response }) => this.#finished(response));
    on("error", ({ error }) => {
      if (error.code !== "response_cancel_not_active") this.#emit("error", error.message); // it had just ended
    });
    on("close", (reason) => this.stop(reason));
  }

  #apply(actions) {
    const acts = {
      duck: () => this.player.duck(),
      restore: () => this.player.restore(),
      forward: () => this.#realtime.forward(),
      hold: () => this.#realtime.hold(),
      interrupt: () => this.#interrupt(),
      join: () => this.#join(),
      discard: () => this.#discard(),
      forget: () => this.user.discard(),
      respond: () => this.#respond(),
    };
    for (const action of actions) acts[action]();
    this.#show();
  }

  #committed(item) {
    const actions = this.turns.committed();
    if (actions.includes("discard")) return this.#delete(item);
    this.user.add(item);
    this.#apply(actions);
  }

  #transcript({ item_id, transcript }) {
    if (this.user.write(item_id, transcript)) this.#apply(this.turns.nothingSaid());
  }

  #respond() {
    this.#answer = new SpokenAnswer(this.#said, String(++this.#asked));
    this.chat.add(this.#answer.message);
    this.player.begin();
    this.#realtime.send({ type: "response.create", response: { metadata: { answer: this.#answer.name } } });
  }

  #words(event) {
    if (!this.#answer?.owns(event)) return;
    this.#answer.mark("firstWord");
    this.#answer.message.text += event.delta;
    this.chat.change(this.#answer.message);
  }

  #sound(event) {
    if (this.#answer?.owns(event)) this.player.push(fromPcm16(decode(event.delta)));
  }

  #started() {
    if (!this.open || !this.#answer) return;
    this.#answer.mark("firstSound");
    this.chat.change(this.#answer.message);
    this.#apply(this.turns.soundStarted());
  }

  /** The answer has been heard to its end: what is said next is a new turn. */
  #heard() {
    if (!this.open || this.#silencing) return;
    const actions = this.turns.answerEnded();
    if (this.turns.state === "listening") this.user.end();
    this.#apply(actions);
  }

  #finished(response) {
    if (!this.#answer || response.id !== this.#answer.response) return;
    this.#answer.take(response);
    this.#settleAnswer(false);
    this.player.finish(); // its "end" follows when all has sounded: then listening begins
    this.chat.save();
  }

  /** Stops the answer; the server keeps of it what was heard. */
  #interrupt() {
    const item = this.#answer?.item;
    if (this.#answer?.message.busy) this.#realtime.send({ type: "response.cancel" });
    if (item) {
      const audio_end_ms = this.player.heard;
      this.#realtime.send({ type: "conversation.item.truncate", item_id: item, content_index: 0, audio_end_ms });
    }
    if (this.player.active && this.#answer) this.#answer.message.stopped = true;
    this.#silencing = true;
    this.player.stop();
    this.#silencing = false;
    this.#settleAnswer(true);
    this.user.interrupt();
  }

  /** The speaker went on after a pause: the begun answer goes, the turn is the same one. */
  #join() {
    if (!this.user.join()) return;
    if (this.#answer?.item) this.#delete(this.#answer.item);
    if (this.#answer) this.chat.remove(this.#answer.message);
    this.#answer = null;
  }

  #discard() {
    const items = this.user.discard();
    if (!items.length) return;
    for (const item of items) this.#delete(item);
    if (this.#answer) this.chat.remove(this.#answer.message);
    this.#answer = null;
  }

  #delete(item_id) {
    this.#realtime.send({ type: "conversation.item.delete", item_id });
  }

  #settleAnswer(stopped) {
    if (!this.#answer) return;
    if (this.#answer.settle(stopped)) this.chat.change(this.#answer.message);
    else this.chat.remove(this.#answer.message); // nothing was said, so nothing was answered
  }

  #show() {
    this.#emit("state", { state: this.turns.state, level: this.activity.level });
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
