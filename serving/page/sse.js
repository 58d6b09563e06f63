// Server-sent events, as OpenAI's API streams them: "data: {json}" blocks, "data: [DONE]" at the end.

/** Incremental parser: text cut anywhere goes in, the data of whole events comes out. */
export class EventParser {
  #line = "";
  #data = [];

  push(text) {
    const lines = (this.#line + text).split(/\r\n|\n|\r(?!$)/);
    this.#line = lines.pop(); // not ended yet; a lone "\r" may be half of "\r\n"
    return lines.flatMap((line) => this.#take(line));
  }

  /** At the end of the stream: an event whose blank line never came still counts. */
  end() {
    return [...this.#take(this.#line), ...this.#take("")];
  }

  #take(line) {
    if (line === "") {
      const event = this.#data.length ? [this.#data.join("\n")] : [];
      this.#data = [];
      return event;
    }
    const [, field, value] = line.match(/^([^:]*):? ?(.*)$/s);
    if (field === "data") this.#data.push(value);
    return [];
  }
}

/** The JSON objects of a streamed response, until "[DONE]" or its end. */
export async function* jsonEvents(body) {
  const parser = new EventParser();
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      for (const data of done ? parser.end() : parser.push(value)) {
        if (data === "[DONE]") return;
        yield JSON.parse(data);
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => {}); // a reader that is left early frees the connection
  }
}
