// A spoken conversation: the microphone, the server's turns and the player, as turns.js decides.

import { Activity } from "./activity.js";
import { decode } from "./base64.js";
import { answer, question } from "./conversation.js";
import { Microphone } from "./microphone.js";
import { fromPcm16 } from "./pcm.js";
import { RATE, Realtime } from "./realtime.js";
import { Turns } from "./turns.js";

/** Events: "state" (detail: { state, level }), "open", "close" (detail: a reason to be shown, or ""). */
export class HandsFree extends EventTarget {
  muted = false;
  #realtime = null;
  #turn = null; // { message, transcripts: Map of item id to text }: what the user says
  #past = null; // the turn that was interrupted: the speaker may go on with it
  #answer = null; // { message, response, item }: what is being answered
  #said = 0; // when the user's last words ended

  constructor({ api, settings, player, chat }) {
    super();
    Object.assign(this, { api, settings, player, chat });
    this.microphone = new Microphone(RATE, (samples) => this.#frame(samples));
    player.addEventListener("start", () => this.#started());
    player.addEventListener("end", () => this.#heard());
    settings.addEventListener("change", () => this.#configure());
  }

  get open() {
    return this.#realtime !== null;
  }

  async start() {
    this.chat.stop();
    this.turns = new Turns();
    this.activity = new Activity();
    this.#turn = this.#answer = null;
    try {
      await this.player.unlock();
      this.#realtime = new Realtime(this.api.realtime(this.settings.get("model")));
      this.#listen();
      await this.#realtime.opened();
      this.#configure();
      for (const message of this.chat.messages) await this.#realtime.tell(message);
      await this.microphone.start();
    } catch (error) {
      return this.stop(error.message);
    }
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
    this.#emit("close", reason);
    this.chat.save();
  }

  /** A message typed, or a picture shown, in the midst of it. */
  async say(text, attachments) {
    if (text) this.#apply(this.turns.typed().filter((action) => action !== "respond"));
    const message = this.chat.add(question(text, attachments));
    await this.#realtime.tell(message);
    this.#turn = null;
    this.#said = performance.now();
    if (text) this.#respond();
    this.#show();
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
    this.#show();
  }

  #listen() {
    const on = (type, act) => this.#realtime.addEventListener(type, ({ detail }) => this.open && act(detail));
    on("input_audio_buffer.speech_started", (event) => {
      this.#do(this.turns.speechStarted(this.#realtime.when(event.audio_start_ms)));
    });
    on("input_audio_buffer.speech_stopped", (event) => {
      const at = this.#realtime.when(event.audio_end_ms);
      if (this.turns.state === "hearing") this.#said = at;
      this.#do(this.turns.speechStopped(at));
    });
    on("input_audio_buffer.committed", ({ item_id }) => this.#committed(item_id));
    on("conversation.item.input_audio_transcription.completed", (event) => this.#transcript(event));
    on("response.created", ({ response }) => {
      if (this.#answer && !this.#answer.response) this.#answer.response = response.id;
    });
    on("response.output_audio_transcript.delta", (event) => this.#words(event));
    on("response.output_text.delta", (event) => this.#words(event));
    on("response.output_audio.delta", (event) => this.#sound(event));
    on("response.done", ({ response }) => this.#finished(response));
    on("error", ({ error }) => this.#emit("error", error.message));
    on("close", (reason) => this.stop(reason || "The connection to the server was lost."));
  }

  #do(actions) {
    this.#apply(actions);
    this.#show();
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
      respond: () => this.#respond(),
    };
    for (const action of actions) acts[action]();
  }

  #committed(item) {
    const actions = this.turns.committed();
    if (actions.includes("discard")) return this.#delete(item);
    if (!this.#turn) {
      const message = this.chat.add({ ...question(""), spoken: true, pending: true });
      this.#turn = { message, transcripts: new Map() };
    }
    this.#turn.transcripts.set(item, "");
    this.#do(actions);
  }

  #transcript({ item_id, transcript }) {
    const turn = this.#turn;
    if (!turn?.transcripts.has(item_id)) return;
    turn.transcripts.set(item_id, transcript);
    turn.message.text = [...turn.transcripts.values()].filter(Boolean).join(" ");
    turn.message.pending = false;
    if (turn.message.text) this.chat.change(turn.message);
    else this.#do(this.turns.nothingSaid());
  }

  #respond() {
    const message = this.chat.add({ ...answer(), busy: true });
    this.#answer = { message, response: "", item: "" };
    this.player.begin();
    this.#realtime.send({ type: "response.create" });
  }

  #current(event) {
    const current = this.#answer;
    if (!current?.response || event.response_id !== current.response) return null;
    current.item = event.item_id;
    return current.message;
  }

  #words(event) {
    const message = this.#current(event);
    if (!message) return;
    message.firstWord ??= Math.round(performance.now() - this.#said);
    message.text += event.delta;
    this.chat.change(message);
  }

  #sound(event) {
    if (this.#current(event)) this.player.push(fromPcm16(decode(event.delta)));
  }

  #started() {
    if (!this.open || !this.#answer) return;
    const { message } = this.#answer;
    message.firstSound ??= Math.round(performance.now() - this.#said);
    this.chat.change(message);
    this.#do(this.turns.soundStarted());
  }

  /** The answer has been heard to its end: what is said next is a new turn. */
  #heard() {
    if (!this.open) return;
    const actions = this.turns.answerEnded();
    if (this.turns.state === "listening") this.#turn = this.#past = null;
    this.#do(actions);
  }

  #finished(response) {
    if (!this.#answer || response.id !== this.#answer.response) return;
    if (response.status === "failed") {
      this.#answer.message.error = response.status_details?.error?.message ?? "The answer failed.";
    }
    this.#settleAnswer(false);
    this.player.finish(); // its "end" follows when all has sounded: then listening begins
    this.chat.save();
  }

  /** Stops the answer; the server keeps of it what was heard. */
  #interrupt() {
    const { item, response } = this.#answer ?? {};
    if (this.#answer?.message.busy) this.#realtime.send({ type: "response.cancel" });
    if (item && response) {
      const audio_end_ms = this.player.heard;
      this.#realtime.send({ type: "conversation.item.truncate", item_id: item, content_index: 0, audio_end_ms });
    }
    const began = this.player.active;
    this.player.stop();
    if (began && this.#answer) this.#answer.message.stopped = true;
    this.#settleAnswer(true);
    this.#past = this.#turn;
    this.#turn = null;
  }

  /** The speaker went on after a pause: the begun answer goes, the turn is the same one. */
  #join() {
    if (!this.#past) return;
    this.#turn = this.#past;
    this.#past = null;
    if (this.#answer?.item) this.#delete(this.#answer.item);
    if (this.#answer) this.chat.remove(this.#answer.message);
    this.#answer = null;
  }

  #discard() {
    const turn = this.#turn ?? this.#past;
    if (!turn) return;
    for (const item of turn.transcripts.keys()) this.#delete(item);
    this.chat.remove(turn.message);
    if (this.#answer) this.chat.remove(this.#answer.message);
    this.#turn = this.#past = this.#answer = null;
  }

  #delete(item_id) {
    this.#realtime.send({ type: "conversation.item.delete", item_id });
  }

  #settleAnswer(stopped) {
    if (!this.#answer) return;
    const { message } = this.#answer;
    if (stopped && message.busy) message.stopped = true;
    message.busy = false;
    if (message.text || message.error || stopped) this.chat.change(message);
    else this.chat.remove(message); // nothing was said, so nothing was answered
  }

  #show() {
    this.#emit("state", { state: this.turns.state, level: this.activity.level });
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
