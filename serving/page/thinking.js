// Chain of thought and answer, told apart in a stream of text: "<think>\n...\n</think>\n\nanswer".

const OPEN = "<think>";
const CLOSE = "</think>";

/** Splits all text so far into { thinking, answer }; a tag that is still half written is held back. */
export function split(text) {
  const begun = text.trimStart();
  if (!begun.startsWith(OPEN)) {
    return { thinking: "", answer: OPEN.startsWith(begun) ? "" : text };
  }
  const inside = begun.slice(OPEN.length);
  const end = inside.indexOf(CLOSE);
  if (end < 0) return { thinking: withoutPart(inside, CLOSE).trim(), answer: "" };
  return {
    thinking: inside.slice(0, end).trim(),
    answer: inside.slice(end + CLOSE.length).trimStart(),
  };
}

function withoutPart(text, tag) {
  for (let length = tag.length - 1; length > 0; length--) {
    if (text.endsWith(tag.slice(0, length))) return text.slice(0, -length);
  }
  return text;
}
