// The microphone as a stream of short frames of samples, echo-cancelled by the browser.

import { Resampler } from "./pcm.js";

const CONSTRAINTS = {
  channelCount: 1,
  echoCancellation: true, // the answer from the loudspeaker is not taken for a question
  noiseSuppression: true,
  autoGainControl: true,
};

/** onFrame(samples): every 20 ms or so, at `rate` Hz. onEnd(): it was unplugged, or taken away. */
export class Microphone {
  #stream = null;
  #context = null;
  #starting = null; // while the browser asks: whoever starts it meanwhile waits for the same answer

  constructor(rate, onFrame, onEnd) {
    Object.assign(this, { rate, onFrame, onEnd });
  }

  get open() {
    return this.#stream !== null;
  }

  async start() {
    if (this.open) return;
    this.#starting ??= this.#start().finally(() => (this.#starting = null));
    await this.#starting;
  }

  async #start() {
    const media = navigator.mediaDevices;
    if (!media) throw new Error("The browser gives the microphone to https:// and localhost only.");
    this.#stream = await media.getUserMedia({ audio: CONSTRAINTS }).catch((error) => {
      throw new Error(refusal(error));
    });
    this.#stream.getAudioTracks()[0].onended = () => this.onEnd?.();
    this.#context = new AudioContext();
    await this.#context.audioWorklet.addModule(new URL("capture-worklet.js", import.meta.url));
    const capture = new AudioWorkletNode(this.#context, "capture", { numberOfOutputs: 0 });
    const resampler = new Resampler(this.#context.sampleRate, this.rate);
    capture.port.onmessage = ({ data }) => this.open && this.onFrame(resampler.push(data));
    this.#context.createMediaStreamSource(this.#stream).connect(capture);
    await this.#context.resume();
  }

  stop() {
    this.#stream?.getTracks().forEach((track) => track.stop());
    this.#context?.close();
    this.#stream = this.#context = null;
  }
}

function refusal(error) {
  if (error.name === "NotAllowedError") {
    return "The microphone is blocked. Allow it in the browser's address bar, then try again.";
  }
  if (error.name === "NotFoundError") return "No microphone was found.";
  return `The microphone cannot be used: ${error.message}`;
}
