// The conversation in the document: one view a message, in order, scrolled to the newest.

import { find } from "./dom.js";
import { MessageView } from "./message-view.js";
import { title } from "./conversation.js";

const NEAR = 120; // pixels from the bottom that count as being there

export class ChatView {
  #views = new Map();

  constructor(chat, actions) {
    this.chat = chat;
    this.actions = actions;
    chat.addEventListener("open", () => this.#open());
    chat.addEventListener("add", ({ detail }) => this.#add(detail));
    chat.addEventListener("change", ({ detail }) => this.#change(detail));
    chat.addEventListener("remove", ({ detail }) => this.#remove(detail));
    this.#open();
  }

  #open() {
    find("messages").replaceChildren();
    this.#views.clear();
    this.chat.messages.forEach((message) => this.#add(message));
    this.#settle();
  }

  #add(message) {
    const view = new MessageView(message, this.actions);
    this.#views.set(message, view);
    find("messages").append(view.node);
    this.#settle();
    find("scroll").scrollTop = find("scroll").scrollHeight;
  }

  #change(message) {
    const scroll = find("scroll");
    const atEnd = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < NEAR;
    this.#views.get(message)?.update();
    if (atEnd) scroll.scrollTop = scroll.scrollHeight; // a reader further up is left there
    if (message.role === "user") this.#settle();
  }

  #remove(message) {
    this.#views.get(message)?.node.remove();
    this.#views.delete(message);
    this.#settle();
  }

  /** What depends on the whole: the welcome, the title, which answer can be tried again. */
  #settle() {
    const { messages } = this.chat;
    find("welcome").hidden = messages.length > 0;
    find("title").textContent = title(this.chat.chat);
    for (const [message, view] of this.#views) {
      if (view.retry) view.retry.hidden = message !== messages.at(-1);
    }
  }
}
