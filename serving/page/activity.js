// Sound activity by level: is somebody making a sound beside the room's noise? Quick, not clever:
// whether that sound is speech is for the server's voice activity detection to say.

import { decibels } from "./pcm.js";

const ABOVE = 9; // dB above the noise that count as a sound
const QUIETEST = -55; // dBFS; what is quieter never counts
const RISE = 4; // dB a second, how fast the noise estimate follows a room that got louder
const FALL = 40; // dB a second, for one that got quieter

export class Activity {
  constructor(noise = -60) {
    this.noise = noise; // dBFS, estimated
    this.level = -Infinity; // dBFS, of the last frame
  }

  /** One frame of samples: true if it holds a sound. seconds: how long it is. */
  push(samples, seconds) {
    this.level = Math.max(-90, decibels(samples));
    const step = (this.level > this.noise ? RISE : -FALL) * seconds;
    const gap = this.level - this.noise;
    this.noise += Math.abs(step) < Math.abs(gap) ? step : gap;
    return this.level > Math.max(QUIETEST, this.noise + ABOVE);
  }
}

/** dBFS as 0 … 1, for a meter. */
export function loudness(level) {
  return Math.max(0, Math.min(1, (level + 60) / 45));
}
