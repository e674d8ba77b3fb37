// Reads how many tokens a model has used from the bytes of a response as they pass, as JSON or as server-sent events. It keeps none of
// them except the usage itself, and changes and delays none.

/** The tokens that a model has used, as the APIs of OpenAI and Anthropic say it, and those of others with the same fields. */
export interface ModelUsage {
  /** Those of a cache included. 0 if the response broke off before its API said it. */
  readonly inputTokens: number;
  /** Those of `inputTokens` that came from a cache. */
  readonly cachedTokens: number;
  /** Reasoning included. */
  readonly outputTokens: number;
  /** Input and output. */
  readonly totalTokens: number;
  /**
   * True if the response hasn't said its output, for example because it broke off: then 4 bytes of text that were written count as one token
   * of `outputTokens`.
   */
  readonly isEstimate: boolean;
  /** The fields that the API has sent, by its own names. Of a repeated field, the last one. */
  readonly said: Readonly<Record<string, unknown>>;
}

/** The part of a response's body that was written. */
export interface SentBody {
  readonly bytes: number;
  /** Those of a model's text, reasoning and arguments of tools, as JSON has them. */
  readonly textBytes: number;
  /** Null if the body has neither usage nor text of a model. Compressed bodies can't be read. */
  readonly usage: ModelUsage | null;
}

const textBytesOfToken = 4;
const nameBytesMax = 64;
const usageBytesMax = 16_384;
const textNames: ReadonlySet<string> = new Set(
  "arguments content delta partial_json reasoning reasoning_content text thinking".split(" "),
);
const [lineFeed, carriageReturn] = [10, 13];
const [quote, comma, colon, bracket, backslash, brace] = [34, 44, 58, 91, 92, 123];
/** 1 for the bytes between strings that matter. */
const isMark = new Uint8Array(256);
for (const mark of '",:[]{}') isMark[mark.charCodeAt(0)] = 1;
const dataField = [..."data:"].map((letter) => letter.charCodeAt(0));

/** Reads a body as it is written, in chunks that may end anywhere. Never throws. */
export class BodyReader implements SentBody {
  bytes = 0;
  textBytes = 0;
  readonly #said: Record<string, unknown> = {};
  #hasUsage = false;
  #hasOutput = false;
  /** Found by the first byte. `other` is not read. */
  #form: "unknown" | "json" | "events" | "other" = "unknown";
  // The line of server-sent events: how much of `data:` it has, or -1 for another field.
  #field = 0;
  #hasReturn = false;
  // The document of JSON.
  #depth = 0;
  /** Keys on the way to the current value, by depth. Usage is no deeper than 2. */
  #path: string[] = [];
  #name = "";
  #key = "";
  #isValue = false;
  #isString = false;
  #isEscaped = false;
  #isText = false;
  /** True in events of OpenAI that say again what others have said, such as `response.output_text.done`. */
  #isRepetition = false;
  #captured: number[] | null = null;
  #capturedDepth = 0;

  get usage(): ModelUsage | null {
    if (!this.#hasUsage && this.textBytes === 0) return null;
    const said = this.#said;
    const read = (name: string) => numberIn(said, name);
    const fromCache = read("cache_read_input_tokens") ?? 0;
    const cached = numberIn(said["prompt_tokens_details"] ?? said["input_tokens_details"], "cached_tokens");
    // Anthropic counts the input of caches beside `input_tokens`, and OpenAI within.
    const inputTokens = (read("input_tokens") ?? read("prompt_tokens") ?? 0) + fromCache +
      (read("cache_creation_input_tokens") ?? 0);
    const outputSaid = read("output_tokens") ?? read("completion_tokens") ?? 0;
    const outputTokens = this.#hasOutput
      ? outputSaid
      : Math.max(outputSaid, Math.ceil(this.textBytes / textBytesOfToken));
    return {
      inputTokens,
      cachedTokens: cached ?? fromCache,
      outputTokens,
      totalTokens: inputTokens + outputTokens,
      isEstimate: !this.#hasOutput,
      said: { ...said },
    };
  }

  write(bytes: Uint8Array): void {
    this.bytes += bytes.length;
    let at = 0;
    while (this.#form === "unknown" && at < bytes.length) this.#begin(bytes[at++]!);
    // Without space and a byte order mark.
    const begun = at > 0 ? at - 1 : 0;
    if (this.#form === "json") this.#read(bytes.subarray(begun));
    if (this.#form === "events") this.#readLines(bytes.subarray(begun));
  }

  #begin(byte: number): void {
    const letter = String.fromCharCode(byte);
    if (letter === "{") this.#form = "json";
    // The first letters of fields and comments.
    else if (":dier".includes(letter)) this.#form = "events";
    // A byte order mark and space may precede both.
    else if (!" \t\r\n\u00ef\u00bb\u00bf".includes(letter)) this.#form = "other";
  }

  /** https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream */
  #readLines(bytes: Uint8Array): void {
    let at = 0;
    while (at < bytes.length) {
      const byte = bytes[at]!;
      if (byte === lineFeed || byte === carriageReturn) {
        at++;
        const isSecond = byte === lineFeed && this.#hasReturn;
        this.#hasReturn = byte === carriageReturn;
        if (isSecond) continue;
        // JSON has no line breaks within strings, and none of it goes on after the event.
        if (this.#field === 0 || this.#isString) this.#reset();
        this.#field = 0;
        continue;
      }
      this.#hasReturn = false;
      if (this.#field >= 0 && this.#field < dataField.length) {
        this.#field = byte === dataField[this.#field] ? this.#field + 1 : -1;
        at++;
        continue;
      }
      let end = at;
      while (end < bytes.length && bytes[end] !== lineFeed && bytes[end] !== carriageReturn) end++;
      if (this.#field > 0) this.#read(bytes.subarray(at, end));
      at = end;
    }
  }

  #reset(): void {
    this.#depth = 0;
    this.#path = [];
    this.#isString = this.#isValue = this.#isRepetition = false;
    this.#captured = null;
  }

  #read(bytes: Uint8Array): void {
    let at = 0;
    let start = 0;
    while (at < bytes.length) {
      if (this.#isString) {
        at = this.#readString(bytes, at);
        continue;
      }
      const byte = bytes[at++]!;
      if (isMark[byte] === 0) continue;
      if (byte === quote) {
        this.#isString = true;
        this.#name = "";
        this.#isText = this.#isValue && !this.#isRepetition && textNames.has(this.#key);
      } else if (byte === colon) {
        this.#key = this.#name;
        this.#isValue = true;
        if (this.#depth <= 2) this.#path[this.#depth] = this.#name;
      } else if (byte === comma) this.#isValue = false;
      else if (byte === brace || byte === bracket) {
        if (byte === brace && this.#isValue && this.#isUsage()) {
          [this.#captured, this.#capturedDepth, start] = [[], this.#depth, at - 1];
        }
        this.#isValue = false;
        this.#depth++;
        if (this.#depth <= 2) this.#path[this.#depth] = "";
      } else {
        this.#depth = Math.max(0, this.#depth - 1);
        if (this.#captured !== null && this.#depth === this.#capturedDepth) {
          this.#capture(bytes.subarray(start, at));
          this.#keep();
        }
      }
    }
    this.#capture(bytes.subarray(start));
  }

  /** @returns Where to continue. */
  #readString(bytes: Uint8Array, start: number): number {
    let end = start;
    if (this.#isEscaped) end++;
    else while (end < bytes.length && bytes[end] !== quote && bytes[end] !== backslash) end++;
    const mark = this.#isEscaped ? undefined : bytes[end];
    this.#isEscaped = mark === backslash;
    if (this.#isEscaped) end++;
    if (this.#isText) this.textBytes += end - start;
    else {
      for (let i = start; i < end && this.#name.length < nameBytesMax; i++) {
        this.#name += String.fromCharCode(bytes[i]!);
      }
    }
    if (mark !== quote) return end;
    this.#isString = false;
    if (this.#isValue && this.#depth === 1 && this.#key === "type") {
      this.#isRepetition = this.#name.startsWith("response.") && !this.#name.endsWith(".delta");
    }
    return end + 1;
  }

  #capture(bytes: Uint8Array): void {
    if (this.#captured === null) return;
    if (this.#captured.length + bytes.length > usageBytesMax) this.#captured = null;
    else this.#captured.push(...bytes);
  }

  /** True at the value of `usage`, or of `usage` in the `response` of OpenAI's events and the `message` of Anthropic's. */
  #isUsage(): boolean {
    const [, first, second] = this.#path;
    if (this.#depth === 1) return first === "usage";
    return this.#depth === 2 && second === "usage" && (first === "response" || first === "message");
  }

  #keep(): void {
    const captured = this.#captured ?? [];
    this.#captured = null;
    let usage: unknown;
    try {
      usage = JSON.parse(new TextDecoder().decode(Uint8Array.from(captured)));
    } catch {
      return;
    }
    const names = ["input_tokens", "prompt_tokens", "output_tokens", "completion_tokens"];
    if (names.every((name) => numberIn(usage, name) === undefined)) return;
    Object.assign(this.#said, usage);
    this.#hasUsage = true;
    // Only the output that `message_start` says is that of the beginning.
    if (this.#path[1] !== "message") this.#hasOutput = true;
  }
}

function numberIn(values: unknown, name: string): number | undefined {
  const value = (values as Record<string, unknown> | null | undefined)?.[name];
  return typeof value === "number" && value >= 0 && value < Infinity ? value : undefined;
}
