// What is said in a spoken conversation: the user's turn, of one recording or several, and its answer.

import { answer, question } from "./conversation.js";

export class SpokenTurn {
  message = { ...question(""), spoken: true, pending: true };
  #transcripts = new Map(); // of item ids, in the order in which they were said

  get items() {
    return [...this.#transcripts.keys()];
  }

  add(item) {
    this.#transcripts.set(item, "");
  }

  /** The transcript of one of its recordings; the text of all so far. */
  write(item, transcript) {
    this.#transcripts.set(item, transcript);
    this.message.text = [...this.#transcripts.values()].filter(Boolean).join(" ");
    this.message.pending = false;
    return this.message.text;
  }
}

export class SpokenAnswer {
  message = { ...answer(), busy: true };
  response = ""; // the server's ids
  item = "";

  /** since: when the user's last words ended, on the page's clock. */
  constructor(since) {
    this.since = since;
  }

  /** Is this event one of this answer, and not of one that was cancelled? */
  owns(event) {
    if (!this.response || event.response_id !== this.response) return false;
    this.item = event.item_id;
    return true;
  }

  mark(name) {
    this.message[name] ??= Math.max(0, Math.round(performance.now() - this.since));
  }
}
