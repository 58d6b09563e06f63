// A spoken conversation: the microphone, the server's turns and the player, as turns.js decides.

import { Activity } from "./activity.js";
import { decode } from "./base64.js";
import { answered, question } from "./conversation.js";
import { Microphone } from "./microphone.js";
import { fromPcm16 } from "./pcm.js";
import { RATE, Realtime } from "./realtime.js";
import { SpokenAnswer, SpokenTurn } from "./spoken.js";
import { Turns } from "./turns.js";

/** Events: "state" (detail: { state, level }), "open", "error" (detail: its message), "close" (detail: a reason to be shown, or ""). */
export class HandsFree extends EventTarget {
  muted = false;
  #realtime = null;
  #turn = null; // what the user says, or has said: a SpokenTurn
  #past = null; // the turn that was interrupted: the speaker may go on with it
  #answer = null; // to it: a SpokenAnswer
  #said = 0; // when the user's last words ended

  constructor({ api, settings, player, chat }) {
    super();
    Object.assign(this, { api, settings, player, chat });
    this.microphone = new Microphone(RATE, (samples) => this.#frame(samples));
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
    this.#turn = this.#answer = null;
    const realtime = (this.#realtime = new Realtime(this.api.realtime(this.settings.get("model"))));
    try {
      this.#listen();
      const opened = realtime.opened();
      await this.player.unlock();
      await opened;
      this.#configure();
      for (const message of answered(this.chat.messages)) await realtime.tell(message);
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
  }

  /** Silences the answer that is under way. */
  hush() {
    this.#apply(this.turns.hushed());
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
    this.#show();
  }

  #committed(item) {
    const actions = this.turns.committed();
    if (actions.includes("discard")) return this.#delete(item);
    if (!this.#turn) {
      this.#turn = new SpokenTurn();
      this.chat.add(this.#turn.message);
    }
    this.#turn.add(item);
    this.#apply(actions);
  }

  #transcript({ item_id, transcript }) {
    const turn = this.#turn;
    if (!turn?.items.includes(item_id)) return;
    if (turn.write(item_id, transcript)) this.chat.change(turn.message);
    else this.#apply(this.turns.nothingSaid());
  }

  #respond() {
    this.#answer = new SpokenAnswer(this.#said);
    this.chat.add(this.#answer.message);
    this.player.begin();
    this.#realtime.send({ type: "response.create" });
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
    if (!this.open) return;
    const actions = this.turns.answerEnded();
    if (this.turns.state === "listening") this.#turn = this.#past = null;
    this.#apply(actions);
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
    const item = this.#answer?.item;
    if (this.#answer?.message.busy) this.#realtime.send({ type: "response.cancel" });
    if (item) {
      const audio_end_ms = this.player.heard;
      this.#realtime.send({ type: "conversation.item.truncate", item_id: item, content_index: 0, audio_end_ms });
    }
    if (this.player.active && this.#answer) this.#answer.message.stopped = true;
    this.player.stop();
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
    for (const item of turn.items) this.#delete(item);
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
