import assert from "node:assert/strict";
import { test } from "node:test";
import { Activity } from "../../../serving/page/activity.js";
import { attachment } from "../../../serving/page/attachments.js";
import { decode, encode } from "../../../serving/page/base64.js";
import { question, title, toMessages } from "../../../serving/page/conversation.js";
import { PcmReader, Resampler, concat, fromPcm16, toPcm16, toWav } from "../../../serving/page/pcm.js";
import { EventParser } from "../../../serving/page/sse.js";
import { excess } from "../../../serving/page/store.js";

const STREAM = ': hi\r\ndata: {"a": 1}\r\n\r\nevent: x\ndata:two\ndata: lines\n\ndata: [DONE]\n\n';
const EVENTS = ['{"a": 1}', "two\nlines", "[DONE]"];

test("server-sent events are the same wherever the stream is cut", () => {
  for (let size = 1; size <= STREAM.length; size++) {
    const parser = new EventParser();
    const found = [];
    for (let i = 0; i < STREAM.length; i += size) found.push(...parser.push(STREAM.slice(i, i + size)));
    assert.deepEqual([...found, ...parser.end()], EVENTS);
  }
});

test("an event without its blank line counts at the end", () => {
  const parser = new EventParser();
  assert.deepEqual([...parser.push("data: last"), ...parser.end()], ["last"]);
});

const tone = (count, rate, hertz) =>
  Float32Array.from({ length: count }, (_, i) => 0.5 * Math.sin((2 * Math.PI * hertz * i) / rate));

test("PCM cut inside a sample gives the same samples", () => {
  const bytes = toPcm16(tone(100, 24000, 440));
  const reader = new PcmReader();
  const parts = [bytes.slice(0, 33), bytes.slice(33, 34), bytes.slice(34)].map((part) => reader.push(part));
  assert.deepEqual(concat(parts), fromPcm16(bytes));
  assert.deepEqual(decode(encode(bytes)), bytes);
});

test("resampling keeps a tone, removes what would alias, and is the same in frames", () => {
  const rms = (wave) => Math.sqrt(wave.reduce((sum, x) => sum + x * x, 0) / wave.length);
  const low = new Resampler(48000, 16000).push(tone(48000, 48000, 440));
  assert.ok(Math.abs(low.length - 16000) < 50);
  assert.ok(Math.abs(rms(low.slice(100)) - 0.3536) < 0.01);
  const high = new Resampler(48000, 16000).push(tone(48000, 48000, 12000));
  assert.ok(rms(high.slice(100)) < 0.01);
  const whole = tone(4410, 44100, 300);
  const framed = new Resampler(44100, 24000);
  const frames = [0, 882, 1764, 2646, 3528].map((at) => framed.push(whole.slice(at, at + 882)));
  const once = new Resampler(44100, 24000).push(whole);
  const cut = concat(frames);
  assert.equal(cut.length, once.length);
  assert.ok(cut.every((sample, i) => Math.abs(sample - once[i]) < 1e-6));
});

test("a WAV file says how long it is", () => {
  const view = new DataView(toWav(new Float32Array(16000), 16000).buffer);
  assert.equal(view.getUint32(24, true), 16000);
  assert.equal(view.getUint32(40, true), 32000);
  assert.equal(view.byteLength, 32044);
});

test("steady noise is soon no activity; a louder sound is", () => {
  const activity = new Activity();
  const noise = (level) => Float32Array.from({ length: 480 }, (_, i) => level * (((i * 7919) % 200) / 100 - 1));
  let active = true;
  for (let i = 0; i < 500; i++) active = activity.push(noise(0.01), 0.02);
  assert.equal(active, false);
  assert.equal(activity.push(noise(0.1), 0.02), true);
  assert.equal(activity.push(new Float32Array(480), 0.02), false);
});

test("messages are OpenAI's; failed answers and chain of thought are not sent back", async () => {
  const encodeAll = { dataUri: async () => "data:x", base64: async () => "eHg=" };
  const messages = [
    question("lost"),
    { role: "assistant", text: "", thinking: "", error: "busy" },
    question("What?", [{ kind: "image", name: "a.png", blob: {} }, { kind: "audio", name: "b.WAV", blob: {} }]),
    { role: "assistant", text: "A dog.", thinking: "dog" },
    question("", [{ kind: "video", name: "c.mp4", blob: {} }]),
  ];
  assert.deepEqual(await toMessages(messages, encodeAll), [
    {
      role: "user",
      content: [
        { type: "image_url", image_url: { url: "data:x" } },
        { type: "input_audio", input_audio: { data: "eHg=", format: "wav" } },
        { type: "text", text: "What?" },
      ],
    },
    { role: "assistant", content: "A dog." },
    { role: "user", content: [{ type: "video_url", video_url: { url: "data:x" } }] },
  ]);
  assert.equal(title({ messages: messages.slice(4) }), "A video");
});

test("old chats and old attachments go first", () => {
  const chat = (size) => ({ messages: [question("", [{ blob: { size } }])] });
  const chats = [chat(60), chat(30), chat(20), chat(5)];
  const { deleted, emptied } = excess(chats, 3, 100);
  assert.deepEqual(deleted, [chats[3]]);
  assert.deepEqual(emptied, [chats[2]]);
});

test("a file is refused that no request could hold", async () => {
  const body = 32 * 2 ** 20; // bytes, MAX_BODY in serving/guard.py
  for (const kind of ["audio", "video"]) {
    const file = { type: `${kind}/x`, name: "x", size: (0.75 * body) | 0 };
    await assert.rejects(attachment(file), /larger than/);
    assert.equal((await attachment({ ...file, size: 20e6 })).kind, kind);
  }
});
