// Plays a stream of samples as they arrive: without gaps, with a volume that can be lowered.
//
// The sound leaves through an <audio> element, which phones play although their ringer is off, and
// which the browser's echo cancellation knows about.

const RATE = 24_000; // Hz, of what the server sends
const LEAD = 0.04; // seconds between arrival and playing, so that the next part is there in time
const DUCKED = 0.15; // volume while somebody may be speaking
const FADE = 0.03; // seconds; a volume that jumps clicks

/** Events: "start" when the first sample sounds, "end" when the last has sounded or was cut off. */
export class AudioPlayer extends EventTarget {
  #context = null;
  #sources = new Set();
  #next = 0; // when the next part begins, on the context's clock
  #begun = 0;
  #gaps = 0; // seconds since then in which nothing sounded, as the next part came late
  #closed = false; // nothing more will come
  #timer = 0; // until the first sample sounds
  active = false; // between begin() and "end"

  constructor(element) {
    super();
    this.element = element;
  }

  /** Must first be called from a click or a key: browsers allow no sound before. */
  async unlock() {
    if (!this.#context) {
      this.#context = new AudioContext({ latencyHint: "interactive" });
      this.gain = this.#context.createGain();
      const output = this.#context.createMediaStreamDestination();
      this.gain.connect(output);
      this.element.srcObject = output.stream;
    }
    await this.#context.resume();
  }

  begin() {
    this.stop();
    this.active = true;
    this.#closed = false;
    this.#begun = this.#next = this.#gaps = 0;
    this.restore();
    this.element.play().catch(() => {}); // refused without a gesture: then nothing sounds
  }

  push(samples) {
    if (!this.active || !samples.length) return;
    const buffer = this.#context.createBuffer(1, samples.length, RATE);
    buffer.copyToChannel(samples, 0);
    const source = this.#context.createBufferSource();
    source.buffer = buffer;
    source.connect(this.gain);
    const at = Math.max(this.#next, this.#context.currentTime + LEAD);
    source.start(at);
    if (this.#begun) this.#gaps += at - this.#next;
    this.#next = at + buffer.duration;
    this.#sources.add(source);
    source.onended = () => this.#ended(source);
    if (!this.#begun) this.#first(at);
  }

  /** No more samples will come; "end" follows when those that came have sounded. */
  finish() {
    this.#closed = true;
    if (this.active && !this.#sources.size) this.#end();
  }

  stop() {
    if (!this.active) return;
    for (const source of this.#sources) {
      source.onended = null;
      source.stop();
    }
    this.#sources.clear();
    this.#end();
  }

  duck() {
    this.#volume(DUCKED);
  }

  restore() {
    this.#volume(1);
  }

  /** Milliseconds that have sounded since begin(). */
  get heard() {
    if (!this.#begun) return 0;
    const now = Math.min(this.#context.currentTime, this.#next);
    return Math.max(0, Math.round(1000 * (now - this.#begun - this.#gaps)));
  }

  #first(at) {
    this.#begun = at;
    const { outputLatency = 0, currentTime } = this.#context;
    const wait = 1000 * (at - currentTime + outputLatency);
    this.#timer = setTimeout(() => this.dispatchEvent(new Event("start")), wait);
  }

  #volume(level) {
    const now = this.#context.currentTime;
    this.gain.gain.setTargetAtTime(level, now, FADE / 3);
  }

  #ended(source) {
    this.#sources.delete(source);
    if (this.#closed && !this.#sources.size) this.#end();
  }

  #end() {
    this.active = false;
    clearTimeout(this.#timer);
    this.element.pause();
    this.dispatchEvent(new Event("end"));
  }
}
