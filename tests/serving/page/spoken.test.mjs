// A spoken conversation's turns, its socket and its player, without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { token } from "../../../serving/page/api.js";
import { Realtime } from "../../../serving/page/realtime.js";
import { Settings } from "../../../serving/page/settings.js";
import { SpokenTurns } from "../../../serving/page/spoken.js";
import { playing } from "./speaking.mjs";

/** A chat that keeps its messages. */
function chat() {
  const messages = [];
  const remove = (message) => messages.splice(messages.indexOf(message), 1);
  return { messages, add: (message) => messages.push(message), change: () => {}, remove };
}

test("words that come after an interruption reach the turn they belong to", () => {
  const turns = new SpokenTurns(chat());
  turns.add("a");
  turns.interrupt();
  turns.add("b");
  assert.equal(turns.write("a", "First."), false);
  assert.equal(turns.write("b", "Second."), false);
  assert.deepEqual(turns.chat.messages.map(({ text }) => text), ["First.", "Second."]);
});

test("a turn without words goes: the present one by its actions, others at once, all at the end", () => {
  const turns = new SpokenTurns(chat());
  turns.add("a");
  turns.interrupt();
  turns.add("b");
  assert.equal(turns.write("a", ""), false);
  assert.equal(turns.chat.messages.length, 1);
  assert.equal(turns.write("b", ""), true);
  assert.deepEqual(turns.discard(), ["b"]);
  turns.add("c");
  assert.equal(turns.close(), true);
  assert.deepEqual(turns.chat.messages, []);
});

test("a turn of two recordings waits for the words of both", () => {
  const turns = new SpokenTurns(chat());
  turns.add("a");
  turns.add("b");
  assert.equal(turns.write("a", ""), false);
  assert.equal(turns.write("b", ""), true);
});

test("a closed socket says whether a conversation was lost or never began", () => {
  for (const [begun, reason] of [[true, /was lost/], [false, /takes no/]]) {
    const socket = {};
    const heard = [];
    new Realtime(socket).addEventListener("close", ({ detail }) => heard.push(detail));
    if (begun) socket.onmessage({ data: '{"type": "session.created"}' });
    socket.onclose({ reason: "" });
    assert.match(heard[0], reason);
  }
});

test("what was heard of an answer is without the gaps between its parts", () => {
  const { player, context } = playing();
  player.push(new Float32Array(24_000)); // 1 s
  context.currentTime = 3; // it sounded long ago
  player.push(new Float32Array(24_000));
  context.currentTime = 3.54;
  assert.equal(player.heard, 1500);
});

test("a key of any characters is a token", () => {
  assert.match(token("a/b=c:d@e f(g)"), /^[\w!#$%&'*+.^`|~-]+$/);
  assert.equal(decodeURIComponent(token("a/b (c)")), "a/b (c)");
});

test("settings of two tabs are kept both", () => {
  const kept = new Map();
  const storage = { getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value) };
  const [one, two] = [new Settings(storage), new Settings(storage)];
  one.set("speed", 1.5);
  two.set("theme", "dark");
  assert.equal(new Settings(storage).get("speed"), 1.5);
});

test("what is told before the session is open is sent then, in order", async () => {
  globalThis.WebSocket ??= { OPEN: 1 };
  const sent = [];
  const socket = { readyState: WebSocket.OPEN, send: (text) => sent.push(JSON.parse(text).item.content[0].text) };
  const realtime = new Realtime(socket);
  realtime.tell({ role: "user", text: "one" }, { role: "assistant", text: "two" });
  const told = realtime.tell({ role: "user", text: "three" });
  assert.deepEqual(sent, []);
  socket.onmessage({ data: '{"type": "session.created"}' });
  await told;
  assert.deepEqual(sent, ["one", "two", "three"]);
});

test("no answer's first sound is told of the one before", async () => {
  const { player } = playing();
  let starts = 0;
  player.addEventListener("start", () => starts++);
  player.push(new Float32Array(2400));
  player.begin(); // stopped within the lead time
  await new Promise((then) => setTimeout(then, 120));
  assert.equal(starts, 0);
});
