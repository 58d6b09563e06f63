// Puts the page together: makes the parts and connects them.

import { Api } from "./api.js";
import { AudioPlayer } from "./audio-player.js";
import { Camera } from "./camera.js";
import { Chat } from "./chat.js";
import { ChatList } from "./chat-list.js";
import { ChatView } from "./chat-view.js";
import { Composer } from "./composer.js";
import { find, notify, setIcon } from "./dom.js";
import { HandsFree } from "./hands-free.js";
import { Inside } from "./inside.js";
import { PushToTalk } from "./push-to-talk.js";
import { Settings } from "./settings.js";
import { SettingsDialog } from "./settings-dialog.js";
import { PassingStore, Store } from "./store.js";
import { VoiceBar } from "./voice-bar.js";

const settings = new Settings();
const api = new Api(() => settings.get("apiKey"));
const player = new AudioPlayer(find("player"));
const store = await Store.open().catch(() => {
  notify("This browser keeps no data for this page: chats are gone when it is closed.");
  return new PassingStore();
});
const chat = new Chat({ api, settings, player, store });
const handsFree = new HandsFree({ api, settings, player, chat });
const inside = new Inside();
const list = new ChatList(chat, store);
const tell = (promise) => promise.catch((error) => error.name !== "AbortError" && notify(error.message));

/** A question by any way but the microphone. */
async function ask(text, attachments) {
  if (!settings.get("model")) await connect(); // the server was not there when the page was opened
  return tell(handsFree.open ? handsFree.say(text, attachments) : chat.send(text, attachments));
}

/** Ends a spoken conversation before what would talk across it. */
function alone(act) {
  handsFree.stop();
  return tell(act());
}

new ChatView(chat, {
  say: ({ text }) => alone(() => chat.say(text)),
  retry: () => {
    find("prompt").focus(); // the button goes with the answer
    alone(() => chat.retry());
  },
  inside: (message) => tell(chat.trace(message).then((html) => inside.show(html))),
});

const composer = new Composer({
  submit: ask,
  stop: () => chat.stop(),
});
chat.addEventListener("busy", () => composer.setBusy(chat.busy && !handsFree.open));

const talk = new PushToTalk({
  begin: () => {
    handsFree.stop(); // the browser may still ask whether it may listen
    chat.stop();
    tell(player.unlock());
  },
  onQuestion: (file) => tell(chat.send("", [{ kind: "audio", name: file.name, blob: file }], true)),
  onError: (error) => notify(error.message),
});

new VoiceBar(handsFree);
find("hands-free").onclick = () => {
  talk.cancel();
  tell(handsFree.start());
};
handsFree.addEventListener("close", ({ detail }) => notify(detail));
handsFree.addEventListener("error", ({ detail }) => notify(detail));

const camera = new Camera((file) => composer.attach([file]));
find("open-camera").onclick = () => tell(camera.open());

const dialog = new SettingsDialog(settings, {
  deleteAll: () => tell(list.clear()),
  keyChanged: () => {
    notify();
    connect();
  },
});
find("speak-answers").onclick = () => settings.set("speak", !settings.get("speak"));
settings.addEventListener("change", showSpeak);

function showSpeak() {
  const speak = settings.get("speak");
  find("speak-answers").setAttribute("aria-pressed", String(speak));
  setIcon(find("speak-answers"), speak ? "speaker" : "muted", "Speak answers");
}

function openChat() {
  chat.open();
  showSidebar(false);
  find("prompt").focus();
}

chat.addEventListener("leave", () => handsFree.stop());
find("new-chat").onclick = find("new-chat-top").onclick = openChat;
find("chats").addEventListener("click", (event) => event.target.closest(".name") && showSidebar(false));
find("suggestions").onclick = ({ target }) => target.closest("button") && ask(target.textContent);

const phone = matchMedia("(max-width: 48rem)"); // as in layout.css: there it lies over the rest

function showSidebar(open) {
  const wasOpen = find("sidebar").classList.contains("open");
  find("sidebar").classList.toggle("open", open);
  document.querySelector("main").inert = open && phone.matches;
  find("shade").hidden = !open;
  find("open-sidebar").setAttribute("aria-expanded", String(open));
  if (open) find("new-chat").focus();
  else if (wasOpen) find("open-sidebar").focus();
}
phone.onchange = () => showSidebar(false);
find("open-sidebar").onclick = () => showSidebar(true);
find("shade").onclick = () => showSidebar(false);

addEventListener("keydown", (event) => {
  if (document.querySelector("dialog[open]")) return;
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (event.key === "Escape") {
    if (find("sidebar").classList.contains("open")) showSidebar(false);
    else if (talk.recording) talk.cancel();
    else if (handsFree.open) handsFree.hush();
    else chat.stop();
  } else if (event.key === "/" && !typing) {
    event.preventDefault();
    find("prompt").focus();
  } else if (event.altKey && (event.code === "KeyN" || event.code === "KeyT")) {
    event.preventDefault(); // it would be typed, or open the browser's menu
    if (event.code === "KeyN") openChat();
    else if (!event.repeat && !handsFree.open) talk.press();
  }
});
addEventListener("blur", () => talk.release()); // the key goes up elsewhere
addEventListener("keyup", (event) => event.code === "KeyT" && talk.release());
addEventListener("pagehide", () => handsFree.stop());

async function connect() {
  try {
    dialog.offer(await api.models());
  } catch (error) {
    if (error.status === 401) dialog.open();
    notify(error.status === 401 ? "The server asks for an API key: see Settings." : error.message);
  }
}

showSpeak();
await list.show();
const [latest] = await store.all();
if (latest) chat.open(await store.get(latest.id));
await connect();
document.body.dataset.ready = "true";
