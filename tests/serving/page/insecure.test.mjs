// What browsers withhold from pages of plain http:// and where site data is blocked.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, newChat } from "../../../serving/page/conversation.js";
import { Microphone } from "../../../serving/page/microphone.js";
import { Settings } from "../../../serving/page/settings.js";

test("a chat has an id without crypto.randomUUID", () => {
  const own = crypto.randomUUID;
  crypto.randomUUID = undefined;
  assert.notEqual(newChat().id, newChat().id);
  assert.equal(newChat().id.length, 32);
  crypto.randomUUID = own;
});

test("settings hold for the visit where nothing may be kept", () => {
  Object.defineProperty(globalThis, "localStorage", {
    configurable: true,
    get() { throw new Error("blocked"); },
  });
  const settings = new Settings();
  settings.set("speed", 1.5);
  assert.equal(settings.get("speed"), 1.5);
});

test("a microphone that is asked for twice is opened once", async () => {
  let asked = 0;
  let allow;
  const getUserMedia = () => {
    asked += 1;
    return new Promise((resolve, reject) => (allow = reject));
  };
  Object.defineProperty(globalThis, "navigator", { configurable: true, value: { mediaDevices: { getUserMedia } } });
  const microphone = new Microphone(16_000, () => {});
  const both = [microphone.start(), microphone.start()];
  allow(Object.assign(new Error(), { name: "NotAllowedError" }));
  for (const result of await Promise.allSettled(both)) assert.match(result.reason.message, /blocked/);
  assert.equal(asked, 1);
});

test("what was refused is told to nobody again", () => {
  const failed = [{ role: "user", text: "a" }, { role: "assistant", text: "", error: "no" }];
  const good = [{ role: "user", text: "b" }, { role: "assistant", text: "c" }];
  assert.deepEqual(answered([...failed, ...good]), good);
});
