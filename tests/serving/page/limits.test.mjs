// The figures of docs/page.md, and the ways between states that no other test goes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { attachment } from "../../../serving/page/attachments.js";
import { decode } from "../../../serving/page/base64.js";
import { Realtime } from "../../../serving/page/realtime.js";
import { SpokenAnswer } from "../../../serving/page/spoken.js";
import { excess } from "../../../serving/page/store.js";
import { Turns } from "../../../serving/page/turns.js";
import { FRAME, frames, speaking } from "./speaking.mjs";

test("300 ms of sound stop an answer, 280 do not", () => {
  const turns = speaking(5000);
  turns.speechStarted(5000);
  assert.deepEqual(frames(turns, true, 5000, 5280), ["duck", "forward"]);
  assert.deepEqual(frames(turns, true, 5280, 5300), ["interrupt"]);
});

test("speech within 1.5 s goes on with the turn, later it does not", () => {
  for (const [at, goesOn] of [[1499, true], [1500, false]]) {
    const turns = new Turns();
    turns.speechStarted(-1000);
    turns.speechStopped(0);
    turns.committed();
    assert.deepEqual(turns.speechStarted(at), goesOn ? ["interrupt", "join"] : ["interrupt"]);
  }
});

test("a sound keeps the answer ducked for 1.5 s, and a gap within a word does not end it", () => {
  const turns = speaking(5000);
  assert.deepEqual(frames(turns, true, 5000, 5100), ["duck", "forward"]);
  assert.deepEqual(frames(turns, false, 5100, 5260), []);
  assert.deepEqual(frames(turns, true, 5260, 6500), []);
  assert.deepEqual(frames(turns, true, 6500, 6520), ["restore", "hold"]);
});

test("who begins to speak over the last word is heard", () => {
  const turns = speaking(5000);
  frames(turns, true, 5000, 5100);
  turns.speechStarted(5000);
  assert.deepEqual(turns.answerEnded(), []);
  assert.equal(turns.state, "hearing");
  assert.deepEqual(turns.committed(), ["respond"]);
});

test("a message typed over a ducked answer opens no way that is open, and ends the turn before", () => {
  const turns = speaking(1000);
  frames(turns, true, 1000, 1060);
  assert.deepEqual(turns.typed(), ["interrupt", "respond"]);
  assert.deepEqual(turns.speechStarted(1100), ["interrupt"]);
});

test("held back, a second is kept, and times are those of the page", () => {
  globalThis.WebSocket ??= { OPEN: 1 };
  const sent = [];
  const realtime = new Realtime({ readyState: WebSocket.OPEN, send: (text) => sent.push(JSON.parse(text)) });
  const frame = () => new Float32Array(480);
  realtime.hear(frame(), 100);
  realtime.hold();
  for (let at = 120; at <= 5020; at += FRAME) realtime.hear(frame(), at);
  assert.deepEqual(sent.map(({ type }) => type), ["input_audio_buffer.append", "input_audio_buffer.clear"]);
  realtime.forward();
  realtime.hear(frame(), 5040);
  assert.equal(decode(sent.at(-1).audio).length / 48, 1020);
  assert.equal(realtime.when(1040), 5040);
  realtime.configure("emma", 1);
  const { create_response, interrupt_response } = sent.at(-1).session.audio.input.turn_detection;
  assert.deepEqual([create_response, interrupt_response], [false, false]);
});

test("an answer takes no event of one that was cancelled, and tells why it failed", () => {
  const answer = new SpokenAnswer(0, "1");
  assert.equal(answer.owns({ response_id: "a", item_id: "i" }), false);
  answer.response = "b";
  assert.equal(answer.owns({ response_id: "a", item_id: "i" }), false);
  assert.equal(answer.owns({ response_id: "b", item_id: "i" }), true);
  assert.equal(answer.settle(false), false);
  answer.take({ status: "failed", status_details: { error: { message: "busy" } } });
  assert.equal(answer.message.error, "busy");
  assert.equal(answer.settle(false), true);
});

test("200 chats are kept, and 150 MB of attachments", () => {
  const chat = (size) => ({ messages: [{ attachments: [{ blob: { size } }] }] });
  assert.equal(excess(Array.from({ length: 201 }, () => chat(0))).deleted.length, 1);
  const { emptied } = excess([chat(100e6), chat(50e6), chat(1)]);
  assert.equal(emptied.length, 1);
});

test("a picture above 1 MB is made smaller, of 1,280 pixels, and one above 20 MB refused", async () => {
  let drawn = null;
  globalThis.createImageBitmap = async () => ({ width: 4000, height: 1000 });
  globalThis.document = { createElement: () => ({ getContext: () => ({ drawImage: (_, x, y, w, h) => (drawn = [w, h]) }), toBlob: (then) => then("small") }) };
  const picture = (size) => ({ type: "image/png", name: "a.png", size });
  assert.equal((await attachment(picture(1.1e6))).blob, "small");
  assert.deepEqual(drawn, [1280, 320]);
  assert.equal((await attachment(picture(0.9e6))).blob.size, 0.9e6);
  await assert.rejects(attachment(picture(21e6)), /larger than 20 MB/);
});
