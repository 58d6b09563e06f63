// Samples of sound: 16-bit PCM, WAV files, sample rates, loudness. Pure functions.

const FULL_SCALE = 32768; // one step above the largest 16-bit sample

export function toPcm16(samples) {
  const pcm = new Int16Array(samples.length);
  for (let i = 0; i < samples.length; i++) {
    const clipped = Math.max(-1, Math.min(1, samples[i]));
    pcm[i] = Math.round(clipped * (FULL_SCALE - 1));
  }
  return new Uint8Array(pcm.buffer);
}

export function fromPcm16(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const samples = new Float32Array(bytes.byteLength >> 1);
  for (let i = 0; i < samples.length; i++) samples[i] = view.getInt16(2 * i, true) / FULL_SCALE;
  return samples;
}

/** Bytes of a PCM stream cut at any place; `push` returns whole samples and keeps an odd byte. */
export class PcmReader {
  #odd = new Uint8Array(0);

  push(bytes) {
    const joined = concat([this.#odd, bytes], Uint8Array);
    const even = joined.length & ~1;
    this.#odd = joined.slice(even);
    return fromPcm16(joined.slice(0, even));
  }
}

export function concat(parts, Kind = Float32Array) {
  const joined = new Kind(parts.reduce((sum, part) => sum + part.length, 0));
  let place = 0;
  for (const part of parts) {
    joined.set(part, place);
    place += part.length;
  }
  return joined;
}

/** A mono 16-bit WAV file of samples in [-1, 1]. */
export function toWav(samples, rate) {
  const pcm = toPcm16(samples);
  const header = new DataView(new ArrayBuffer(44));
  const ascii = (place, text) =>
    [...text].forEach((letter, i) => header.setUint8(place + i, letter.charCodeAt(0)));
  ascii(0, "RIFF");
  header.setUint32(4, 36 + pcm.length, true);
  ascii(8, "WAVEfmt ");
  header.setUint32(16, 16, true); // bytes of the format chunk
  header.setUint16(20, 1, true); // PCM
  header.setUint16(22, 1, true); // channels
  header.setUint32(24, rate, true);
  header.setUint32(28, 2 * rate, true); // bytes a second
  header.setUint16(32, 2, true); // bytes a frame
  header.setUint16(34, 16, true); // bits a sample
  ascii(36, "data");
  header.setUint32(40, pcm.length, true);
  return concat([new Uint8Array(header.buffer), pcm], Uint8Array);
}

/** Root mean square in dB below full scale; -Infinity for digital silence. */
export function decibels(samples) {
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  return 10 * Math.log10(sum / Math.max(1, samples.length));
}

/**
 * Sample-rate conversion of a stream: a windowed-sinc low-pass evaluated at each output sample.
 * The filter's history is kept between calls, so a stream cut anywhere gives the same samples.
 */
export class Resampler {
  static ZEROS = 8; // zero crossings of the sinc on either side

  constructor(from, to) {
    this.step = from / to; // input samples an output sample
    this.cutoff = Math.min(1, to / from) * 0.95;
    this.reach = Math.ceil(Resampler.ZEROS / this.cutoff);
    this.input = new Float32Array(this.reach); // what the next outputs still need
    this.place = this.reach; // of the next output, in samples of this.input
  }

  push(samples) {
    if (this.step === 1) return samples;
    this.input = concat([this.input, samples]);
    const output = [];
    while (this.place + this.reach < this.input.length) {
      output.push(this.#sample(this.place));
      this.place += this.step;
    }
    const done = Math.max(0, Math.floor(this.place) - this.reach);
    this.input = this.input.slice(done);
    this.place -= done;
    return Float32Array.from(output);
  }

  #sample(place) {
    let sum = 0;
    const first = Math.ceil(place - this.reach);
    for (let i = Math.max(0, first); i < place + this.reach && i < this.input.length; i++) {
      const distance = i - place;
      const x = Math.PI * distance * this.cutoff;
      const sinc = x === 0 ? 1 : Math.sin(x) / x;
      const hann = 0.5 + 0.5 * Math.cos((Math.PI * distance) / this.reach);
      sum += this.input[i] * this.cutoff * sinc * hann;
    }
    return sum;
  }
}
