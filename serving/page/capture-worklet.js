// Audio worklet: passes what the microphone hears to the page, in frames of 20 ms.

class Capture extends AudioWorkletProcessor {
  constructor() {
    super();
    this.frame = new Float32Array(Math.round(sampleRate / 50));
    this.filled = 0;
  }

  process([[channel]]) {
    for (const sample of channel ?? []) {
      this.frame[this.filled++] = sample;
      if (this.filled === this.frame.length) {
        this.port.postMessage(this.frame.slice());
        this.filled = 0;
      }
    }
    return true;
  }
}

registerProcessor("capture", Capture);
