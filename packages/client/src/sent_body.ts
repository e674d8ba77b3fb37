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
const [lineFeed, carriageReturn, quote, backslash] = [10, 13, 34, 92];
const dataField = [..."data:"].map((letter) => letter.charCodeAt(0));
const isSpace = (byte: number) => byte === 32 || byte === 9 || byte === lineFeed || byte === carriageReturn;

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
  #lastByte = 0;
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
    for (const byte of bytes) {
      if (this.#form === "other") return;
      if (this.#form === "unknown") this.#begin(byte);
      if (this.#form === "json") this.#read(byte);
      if (this.#form === "events") this.#readLine(byte);
    }
  }

  #begin(byte: number): void {
    const letter = String.fromCharCode(byte);
    if (letter === "{") this.#form = "json";
    // The first letters of fields and comments.
    else if (":dier".includes(letter)) this.#form = "events";
    // A byte order mark and space may precede both.
    else if (!isSpace(byte) && !"\u00ef\u00bb\u00bf".includes(letter)) this.#form = "other";
  }

  /** https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream */
  #readLine(byte: number): void {
    const last = this.#lastByte;
    this.#lastByte = byte;
    if (byte === lineFeed && last === carriageReturn) return;
    if (byte === lineFeed || byte === carriageReturn) {
      // JSON has no line breaks within strings, and none of it goes on after the event.
      if (this.#field === 0 || this.#isString) this.#reset();
      this.#field = 0;
    } else if (this.#field === dataField.length) this.#read(byte);
    else if (this.#field >= 0) this.#field = byte === dataField[this.#field] ? this.#field + 1 : -1;
  }

  #reset(): void {
    this.#depth = 0;
    this.#path = [];
    this.#isString = this.#isValue = this.#isRepetition = false;
    this.#captured = null;
  }

  #read(byte: number): void {
    if (this.#captured !== null && this.#captured.push(byte) > usageBytesMax) this.#captured = null;
    if (this.#isString) return this.#readString(byte);
    switch (String.fromCharCode(byte)) {
      case '"':
        [this.#isString, this.#isEscaped, this.#name] = [true, false, ""];
        this.#isText = this.#isValue && !this.#isRepetition && textNames.has(this.#key);
        break;
      case ":":
        [this.#key, this.#isValue] = [this.#name, true];
        if (this.#depth <= 2) this.#path[this.#depth] = this.#name;
        break;
      case ",":
        this.#isValue = false;
        break;
      case "{":
        if (this.#isValue && this.#isUsage()) [this.#captured, this.#capturedDepth] = [[byte], this.#depth];
        this.#open();
        break;
      case "[":
        this.#open();
        break;
      case "}":
      case "]":
        this.#depth = Math.max(0, this.#depth - 1);
        if (this.#captured !== null && this.#depth === this.#capturedDepth) this.#keep(this.#captured);
    }
  }

  #open(): void {
    this.#isValue = false;
    this.#depth++;
    if (this.#depth <= 2) this.#path[this.#depth] = "";
  }

  #readString(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === backslash) this.#isEscaped = true;
    else if (byte === quote) {
      this.#isString = false;
      const isType = this.#isValue && this.#depth === 1 && this.#key === "type";
      if (isType) this.#isRepetition = this.#name.startsWith("response.") && !this.#name.endsWith(".delta");
      return;
    }
    if (this.#isText) this.textBytes++;
    else if (this.#name.length < nameBytesMax) this.#name += String.fromCharCode(byte);
  }

  /** True at the value of `usage`, or of `usage` in the `response` of OpenAI's events and the `message` of Anthropic's. */
  #isUsage(): boolean {
    const [, first, second] = this.#path;
    if (this.#depth === 1) return first === "usage";
    return this.#depth === 2 && second === "usage" && (first === "response" || first === "message");
  }

  #keep(captured: readonly number[]): void {
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
