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

/** The user's turns: the present one, the one before, and all whose words are still to come. */
export class SpokenTurns {
  #turn = null; // what the user says, or has said
  #past = null; // the turn that was interrupted: the speaker may go on with it
  #awaited = new Map(); // turns by the items whose words are still to come

  constructor(chat) {
    this.chat = chat;
  }

  /** A recording has become an item of the conversation. */
  add(item) {
    if (!this.#turn) {
      this.#turn = new SpokenTurn();
      this.chat.add(this.#turn.message);
    }
    this.#turn.add(item);
    this.#awaited.set(item, this.#turn);
  }

  /** A recording's words have come, whatever has begun since. Was nothing said in the present turn? */
  write(item, transcript) {
    const turn = this.#awaited.get(item);
    if (!turn) return false;
    this.#awaited.delete(item);
    const said = turn.write(item, transcript);
    if (said) this.chat.change(turn.message);
    if (said || this.#isAwaited(turn)) return false;
    if (turn === this.#turn) return true;
    this.chat.remove(turn.message);
    if (turn === this.#past) this.#past = null;
    return false;
  }

  interrupt() {
    this.#past = this.#turn;
    this.#turn = null;
  }

  /** Does the speaker go on with the turn that was interrupted? */
  join() {
    if (!this.#past) return false;
    this.#turn = this.#past;
    this.#past = null;
    return true;
  }

  /** What is said next is a new turn. */
  end() {
    this.#turn = this.#past = null;
  }

  /** Nothing was said: takes the turn back; its items. */
  discard() {
    const turn = this.#turn ?? this.#past;
    this.end();
    if (!turn) return [];
    this.chat.remove(turn.message);
    for (const item of turn.items) this.#awaited.delete(item);
    return turn.items;
  }

  /** No more words will come: turns without any go. Were there such turns? */
  close() {
    const empty = [...new Set(this.#awaited.values())].filter(({ message }) => !message.text);
    for (const { message } of empty) this.chat.remove(message);
    this.#awaited.clear();
    this.end();
    return empty.length > 0;
  }

  #isAwaited(turn) {
    return [...this.#awaited.values()].includes(turn);
  }
}

export class SpokenAnswer {
  message = { ...answer(), busy: true };
  response = ""; // the server's ids
  item = "";

  /** since: when the user's last words ended, on the page's clock. name: by which the server's response is known. */
  constructor(since, name) {
    Object.assign(this, { since, name });
  }

  /** Is this event one of this answer, and not of one that was cancelled? */
  owns(event) {
    if (!this.response || event.response_id !== this.response) return false;
    this.item = event.item_id;
    return true;
  }

  /** The server's last word about it. */
  take({ status, status_details }) {
    if (status === "failed") this.message.error = status_details?.error?.message ?? "The answer failed.";
  }

  /** It has ended. Is there anything of it to be kept? */
  settle(stopped) {
    const { message } = this;
    if (stopped && message.busy) message.stopped = true;
    message.busy = false;
    return Boolean(message.text || message.error || stopped);
  }

  mark(name) {
    this.message[name] ??= Math.max(0, Math.round(performance.now() - this.since));
  }
}
