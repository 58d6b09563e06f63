import assert from "node:assert/strict";
import { test } from "node:test";
import { CONFIRM, GOES_ON, Turns } from "../../../serving/page/turns.js";
import { FRAME, frames, speaking } from "./speaking.mjs";

test("a click ducks the answer and does not stop it", () => {
  const turns = speaking(5000);
  assert.deepEqual(frames(turns, true, 5000, 5060), ["duck", "forward"]);
  assert.deepEqual(frames(turns, false, 5060, 6000), ["restore", "hold"]);
  assert.equal(turns.state, "speaking");
});

test("speech stops the answer after some 300 ms, not before", () => {
  const turns = speaking(5000);
  frames(turns, true, 5000, 5100);
  turns.speechStarted(5000);
  assert.deepEqual(frames(turns, true, 5100, 5000 + CONFIRM - FRAME), []);
  assert.deepEqual(frames(turns, true, 5000 + CONFIRM - FRAME, 5000 + CONFIRM), ["interrupt"]);
  assert.equal(turns.state, "hearing");
});

test("a long sound that is not speech is let pass, and only ducks once", () => {
  const turns = speaking(5000);
  assert.deepEqual(frames(turns, true, 5000, 9000), ["duck", "forward", "restore", "hold"]);
  assert.equal(turns.state, "speaking");
  frames(turns, false, 9000, 9400);
  assert.deepEqual(frames(turns, true, 9400, 9440), ["duck", "forward"]);
});

test("the server's word without a sound here, as of an echo, stops nothing", () => {
  const turns = speaking(5000);
  assert.deepEqual(turns.speechStarted(5000), []);
  assert.deepEqual(frames(turns, false, 5000, 6000), []);
  assert.deepEqual(turns.committed(), ["discard"]);
});

test("listening begins when the sound has ended", () => {
  const turns = speaking(5000);
  assert.equal(turns.state, "speaking");
  assert.deepEqual(turns.answerEnded(), ["forward"]);
  assert.equal(turns.state, "listening");
});

test("a speaker who goes on before the answer continues the same turn", () => {
  const turns = new Turns();
  turns.speechStarted(0);
  turns.speechStopped(1000);
  turns.committed();
  assert.deepEqual(turns.speechStarted(1600), ["interrupt", "join"]);
  turns.speechStopped(2500);
  assert.deepEqual(turns.committed(), ["respond"]);
});

test("one who speaks later, or after the answer, begins a turn of their own", () => {
  const turns = new Turns();
  turns.speechStarted(0);
  turns.speechStopped(1000);
  turns.committed();
  assert.deepEqual(turns.speechStarted(1000 + GOES_ON), ["interrupt"]);
  const heard = speaking(500);
  heard.answerEnded();
  assert.deepEqual(heard.speechStarted(700), []);
});

test("where nothing was said, the turn is dropped", () => {
  const turns = new Turns();
  turns.speechStarted(0);
  turns.speechStopped(300);
  turns.committed();
  assert.deepEqual(turns.nothingSaid(), ["interrupt", "discard"]);
  assert.equal(turns.state, "listening");
});

test("a typed message interrupts and is answered", () => {
  assert.deepEqual(speaking(5000).typed(), ["interrupt", "forward", "respond"]);
  assert.deepEqual(new Turns().typed(), ["respond"]);
});

test("a message typed while somebody speaks is answered with what is said", () => {
  const turns = new Turns();
  turns.speechStarted(0);
  assert.deepEqual(turns.typed(), []);
  assert.equal(turns.state, "hearing");
  assert.deepEqual(turns.committed(), ["respond"]);
  assert.deepEqual(turns.nothingSaid(), ["forget"]);
  assert.equal(turns.state, "thinking");
});

test("a key silences the answer, and listening begins", () => {
  const turns = speaking(5000);
  assert.deepEqual(turns.hushed(), ["interrupt", "forward"]);
  assert.equal(turns.state, "listening");
  assert.deepEqual(turns.hushed(), []);
});

test("a noise while a question is thought about leaves the question its answer", () => {
  for (const ask of [(turns) => turns.typed(), (turns) => [turns.speechStarted(-900), turns.speechStopped(0), turns.committed()].at(-1)]) {
    const turns = new Turns();
    assert.deepEqual(ask(turns), ["respond"]);
    assert.deepEqual(turns.speechStarted(GOES_ON + 500), ["interrupt"]);
    turns.speechStopped(GOES_ON + 600);
    assert.deepEqual(turns.committed(), ["respond"]);
    assert.deepEqual(turns.nothingSaid(), ["forget"]);
    assert.equal(turns.state, "thinking");
  }
  const turns = new Turns(); // the control: nothing was asked
  turns.speechStarted(0);
  turns.speechStopped(100);
  turns.committed();
  assert.deepEqual(turns.nothingSaid(), ["interrupt", "discard"]);
});
