// The list of earlier chats at the side.

import { element, find, iconButton } from "./dom.js";
import { title } from "./conversation.js";

export class ChatList {
  constructor(chat, store) {
    this.chat = chat;
    this.store = store;
    chat.addEventListener("saved", () => this.show());
    chat.addEventListener("open", () => this.show());
  }

  async show() {
    const chats = await this.store.all();
    const focused = document.activeElement?.closest("#chats li")?.dataset.id; // it stays where it is
    const none = element("li", { className: "none", textContent: "Chats are kept in this browser." });
    find("chats").replaceChildren(...(chats.length ? chats.map((each) => this.#entry(each)) : [none]));
    if (focused) find("chats").querySelector(`[data-id="${focused}"] .name`)?.focus();
  }

  #entry(chat) {
    const name = title(chat);
    const open = element("button", { type: "button", className: "name", textContent: name, title: name });
    open.onclick = () => this.open(chat.id);
    const remove = iconButton("trash", `Delete “${name}”`, () => confirm(`Delete “${name}”?`) && this.remove(chat.id, entry));
    const entry = element("li", {}, open, remove);
    entry.dataset.id = chat.id;
    if (chat.id === this.chat.chat.id) entry.setAttribute("aria-current", "true");
    return entry;
  }

  async open(id) {
    if (id === this.chat.chat.id) return; // it is open, and may be being answered
    const chat = await this.store.get(id);
    if (chat) this.chat.open(chat);
  }

  async remove(id, entry) {
    const place = [...find("chats").children].indexOf(entry);
    if (id === this.chat.chat.id) this.chat.forget();
    await this.store.delete(id);
    await this.show();
    const left = find("chats").querySelectorAll(".name");
    (left[Math.min(place, left.length - 1)] ?? find("new-chat")).focus();
  }

  async clear() {
    this.chat.forget();
    await this.store.clear();
    await this.show();
  }
}
