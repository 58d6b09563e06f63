// A spoken conversation without a browser: turns with an answer that sounds, and a player.

import assert from "node:assert/strict";
import { AudioPlayer } from "../../../serving/page/audio-player.js";
import { Turns } from "../../../serving/page/turns.js";

export const FRAME = 20; // ms

/** Frames from `from` to `to` ms; all actions they cause. */
export function frames(turns, sound, from, to) {
  const actions = [];
  for (let at = from; at < to; at += FRAME) actions.push(...turns.frame(sound, at, FRAME));
  return actions;
}

/** A turn that ended at 0 ms whose answer sounds from `at` on. */
export function speaking(at) {
  const turns = new Turns();
  turns.speechStarted(-1000);
  turns.speechStopped(0);
  assert.deepEqual(turns.committed(), ["respond"]);
  assert.deepEqual(turns.soundStarted(), ["hold"]);
  frames(turns, false, at - 400, at);
  return turns;
}

/** A player that has begun, and the clock of its sound, which stands. */
export function playing() {
  const context = { currentTime: 0, resume() {}, createGain: () => ({ connect() {}, gain: { setTargetAtTime() {} } }) };
  context.createMediaStreamDestination = () => ({ stream: null });
  context.createBuffer = (_, length, rate) => ({ duration: length / rate, copyToChannel() {} });
  context.createBufferSource = () => ({ connect() {}, start() {}, stop() {} });
  globalThis.AudioContext = function () { return context; };
  const player = new AudioPlayer({ play: async () => {}, pause() {} });
  player.unlock();
  player.begin();
  return { player, context };
}
