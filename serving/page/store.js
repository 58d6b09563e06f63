// Chats kept in this browser (IndexedDB), pictures and recordings included within limits. Several
// tabs may be open: none overwrites what another has written since.

import { newId } from "./conversation.js";

const NAME = "uomni";
const CHATS = "chats";
const MAX_CHATS = 200; // the oldest go first
const MAX_BYTES = 150e6; // of attachments, in all chats together
const MAX_KEPT = 8e6; // bytes; a larger attachment is kept by its name alone

export class Store {
  #known = new Map(); // chats by id: when those that this tab has read or written were changed

  static async open() {
    const request = indexedDB.open(NAME, 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore(CHATS, { keyPath: "id" }).createIndex("updated", "updated");
    };
    return new Store(await done(request));
  }

  constructor(database) {
    this.database = database;
  }

  /** All chats, newest first. */
  async all() {
    const chats = await done(this.#chats("readonly").index("updated").getAll());
    return chats.reverse();
  }

  /** A chat to go on with. */
  async get(id) {
    const chat = await done(this.#chats("readonly").get(id));
    if (chat) this.#known.set(id, chat.updated);
    return chat;
  }

  /** Keeps a chat: as another one if it went on in another tab, not at all if it was deleted there. */
  async put(chat) {
    const { id } = chat;
    const chats = this.#chats("readwrite");
    const stored = await done(chats.get(id));
    if (chat.id !== id) return this.put(chat); // another call has just moved it
    const known = this.#known.get(id);
    if (!stored && known !== undefined) return;
    if (stored && stored.updated !== known) chat.id = newId();
    const copy = kept(chat);
    await done(chats.put(copy));
    this.#known.set(copy.id, copy.updated);
    await this.#trim();
  }

  delete(id) {
    return done(this.#chats("readwrite").delete(id));
  }

  clear() {
    return done(this.#chats("readwrite").clear());
  }

  #chats(mode) {
    return this.database.transaction(CHATS, mode).objectStore(CHATS);
  }

  async #trim() {
    const { deleted, emptied } = excess(await this.all());
    for (const chat of deleted) await this.delete(chat.id);
    for (const chat of emptied) await done(this.#chats("readwrite").put(withoutBlobs(chat)));
  }
}

/** What goes beyond the limits, of chats newest first: whole chats, and attachments of old ones. */
export function excess(chats, maxChats = MAX_CHATS, maxBytes = MAX_BYTES) {
  const emptied = [];
  let total = 0;
  for (const chat of chats.slice(0, maxChats)) {
    const size = bytes(chat);
    total += size;
    if (size && total > maxBytes) emptied.push(chat);
  }
  return { deleted: chats.slice(maxChats), emptied };
}

/** The same for a browser that keeps nothing: chats last until the page is closed. */
export class PassingStore extends Map {
  async all() {
    return [...this.values()].sort((a, b) => b.updated - a.updated);
  }

  async put(chat) {
    this.set(chat.id, chat);
  }
}

function bytes(chat) {
  const blobs = chat.messages.flatMap((message) => message.attachments ?? []);
  return blobs.reduce((sum, { blob }) => sum + (blob?.size ?? 0), 0);
}

/** A chat as it is kept: without what is too large, or was under way. */
function kept(chat) {
  const still = { ...chat, messages: chat.messages.map(ended) };
  return mapAttachments(still, (attachment) =>
    attachment.blob?.size > MAX_KEPT ? { ...attachment, blob: null } : attachment,
  );
}

function ended(message) {
  return { ...message, busy: false, pending: false, stopped: Boolean(message.stopped || message.busy) };
}

function withoutBlobs(chat) {
  return mapAttachments(chat, (attachment) => ({ ...attachment, blob: null }));
}

function mapAttachments(chat, change) {
  const messages = chat.messages.map((message) =>
    message.attachments ? { ...message, attachments: message.attachments.map(change) } : message,
  );
  return { ...chat, messages };
}

function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
