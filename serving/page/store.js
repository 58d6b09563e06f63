// Chats kept in this browser (IndexedDB), pictures and recordings included within limits.

const NAME = "uomni";
const CHATS = "chats";
const MAX_CHATS = 200; // the oldest go first
const MAX_BYTES = 150e6; // of attachments, in all chats together
const MAX_KEPT = 8e6; // bytes; a larger attachment is kept by its name alone

export class Store {
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

  get(id) {
    return done(this.#chats("readonly").get(id));
  }

  async put(chat) {
    await done(this.#chats("readwrite").put(kept(chat)));
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
  const still = { ...chat, messages: chat.messages.map((message) => ({ ...message, busy: false })) };
  return mapAttachments(still, (attachment) =>
    attachment.blob?.size > MAX_KEPT ? { ...attachment, blob: null } : attachment,
  );
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
