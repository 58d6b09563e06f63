// One chat: its messages as the page keeps them, and as OpenAI's API takes them.
//
// A question: { role: "user", text, attachments: [{ kind, name, blob }] }; kind is image, audio or
// video. An answer: { role: "assistant", text, thinking, notices, firstWord, firstSound (ms), stopped, error }.

const TITLE_LENGTH = 48; // characters

/** Plain http:// from another machine has no crypto.randomUUID. */
export function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function newChat() {
  return { id: newId(), updated: Date.now(), messages: [] };
}

export function question(text, attachments = []) {
  return { role: "user", text, attachments };
}

export function answer() {
  return { role: "assistant", text: "", thinking: "" };
}

/** What the list of chats shows: the first words, or what was attached. */
export function title(chat) {
  const first = chat.messages.find((message) => message.role === "user");
  if (!first) return "New chat";
  const text = first.text.replace(/\s+/g, " ").trim();
  if (!text) return { image: "A picture", audio: "A recording", video: "A video" }[kindOf(first)];
  if (text.length <= TITLE_LENGTH) return text;
  return `${text.slice(0, TITLE_LENGTH - 1).replace(/\s+\S*$/, "")}…`;
}

function kindOf(message) {
  return message.attachments[0]?.kind ?? "audio";
}

/**
 * Messages of OpenAI's chat API. Chain of thought is not sent back (as Qwen3 is trained), nor are
 * answers that failed or stayed empty, with the questions they belong to.
 * encode: { dataUri, base64 }, functions of a Blob that give promises of text.
 */
export async function toMessages(messages, encode) {
  return Promise.all(answered(messages).map((message) => toMessage(message, encode)));
}

/** All but answers that failed or stayed empty, with the questions they belong to. */
export function answered(messages) {
  return messages.filter((message, i) => !isLost(message, messages[i + 1]));
}

function isLost(message, next) {
  const empty = (turn) => turn.role === "assistant" && !turn.text;
  return empty(message) || (message.role === "user" && next !== undefined && empty(next));
}

async function toMessage({ role, text, attachments = [] }, encode) {
  const sent = attachments.filter((attachment) => attachment.blob);
  if (!sent.length) return { role, content: text };
  const parts = await Promise.all(sent.map((attachment) => toPart(attachment, encode)));
  if (text) parts.push({ type: "text", text });
  return { role, content: parts };
}

async function toPart({ kind, name, blob }, encode) {
  if (kind === "audio") {
    const format = name.split(".").pop().toLowerCase();
    return { type: "input_audio", input_audio: { data: await encode.base64(blob), format } };
  }
  return { type: `${kind}_url`, [`${kind}_url`]: { url: await encode.dataUri(blob) } };
}
