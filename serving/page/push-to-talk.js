// Push to talk: hold the button (or its key) and speak; or tap to start, and tap again to send.

import { Activity, loudness } from "./activity.js";
import { find } from "./dom.js";
import { Microphone } from "./microphone.js";
import { concat, toWav } from "./pcm.js";

const RATE = 16_000; // Hz
const TAP = 350; // ms; a shorter press is a tap, and recording goes on until the next
const LONGEST = 60; // seconds
const SHORTEST = 0.3; // seconds that hold a question

export class PushToTalk {
  #frames = [];
  #pressed = 0;
  #heard = false;
  #held = false; // the button, since the press that began the recording

  /** onQuestion(file): a WAV recording. begin(): called first, e.g. to stop what sounds. */
  constructor({ begin, onQuestion, onError }) {
    Object.assign(this, { begin, onQuestion, onError, recording: false });
    this.microphone = new Microphone(RATE, (samples) => this.#take(samples), () => this.cancel());
    const button = find("talk");
    button.onpointerdown = (event) => event.button === 0 && this.press();
    button.onpointerup = () => this.release();
    button.onpointerleave = () => this.release();
    button.oncontextmenu = (event) => event.preventDefault(); // a long press on a phone
    // In braces: a handler that returned false would keep Tab from leaving the button.
    button.onkeydown = (event) => { if (isPress(event)) this.press(); };
    button.onkeyup = (event) => { if (isPress(event)) this.release(); };
  }

  async press() {
    this.#held = !this.recording;
    if (this.recording) return this.#send();
    this.#pressed = performance.now();
    this.recording = true;
    this.#frames = [];
    this.#heard = false;
    this.activity = new Activity();
    this.begin();
    this.#show();
    try {
      await this.microphone.start();
      if (!this.recording) this.microphone.stop(); // let go while the browser asked
    } catch (error) {
      if (!this.recording) return; // let go before it was there
      this.cancel();
      this.onError(error);
    }
  }

  release() {
    const held = this.#held;
    this.#held = false;
    if (held && this.recording && performance.now() - this.#pressed > TAP) this.#send();
  }

  cancel() {
    this.recording = false;
    this.microphone.stop();
    this.#show();
  }

  #send() {
    const samples = concat(this.#frames);
    this.cancel();
    if (samples.length < SHORTEST * RATE || !this.#heard) {
      return this.onError(new Error("Nothing was heard. Hold the button while you speak."));
    }
    const blob = toWav(samples, RATE);
    this.onQuestion(new File([blob], "question.wav", { type: "audio/wav" }));
  }

  #take(samples) {
    if (!this.recording) return;
    this.#frames.push(samples);
    this.#heard = this.activity.push(samples, samples.length / RATE) || this.#heard;
    this.#show();
    if (this.#seconds() >= LONGEST) this.#send();
  }

  #seconds() {
    return this.#frames.reduce((sum, frame) => sum + frame.length, 0) / RATE;
  }

  #show() {
    const button = find("talk");
    button.setAttribute("aria-pressed", String(this.recording));
    button.style.setProperty("--level", this.recording ? loudness(this.activity.level) : 0);
    const shown = this.recording ? `Recording ${Math.floor(this.#seconds())} s` : "";
    if (find("recording").textContent !== shown) find("recording").textContent = shown;
  }
}

function isPress(event) {
  if (event.key !== " " && event.key !== "Enter") return false;
  event.preventDefault();
  return !event.repeat;
}
