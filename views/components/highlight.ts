// Colors strings, comments and keywords of code examples. It needs no grammar: an example that is colored wrong still reads.

/** `kind` is null for ordinary text. */
export interface CodePart {
  readonly text: string;
  readonly kind: "string" | "comment" | "keyword" | null;
}

const keywords: Readonly<Record<string, string>> = {
  sh: "export|while|do|done|for|in|if|then|else|fi|break",
  ts:
    "async|await|break|catch|class|const|else|export|for|from|function|if|import|let|new|of|return|throw|try|type|while",
  py:
    "as|async|await|def|else|except|for|from|if|import|in|is|not|raise|return|try|while|with|None|True|False",
};
const comments: Readonly<Record<string, string>> = {
  sh: "(?<![^\\s])#[^\\n]*",
  py: "#[^\\n]*",
  yaml: "(?<![^\\s])#[^\\n]*",
  toml: "(?<![^\\s])#[^\\n]*",
  nginx: "(?<![^\\s])#[^\\n]*",
  caddyfile: "(?<![^\\s])#[^\\n]*",
  ts: "(?<!:)//[^\\n]*",
};
const strings = String.raw`"(?:\\[^]|[^"\\\n])*"|'(?:\\[^]|[^'\\])*'`;
const sameAs: Readonly<Record<string, string>> = { js: "ts" };

/** Divides a code example into parts, which together are the code. */
export function highlight(code: string, language: string): CodePart[] {
  const name = sameAs[language] ?? language;
  const kinds = [
    ["comment", comments[name]],
    ["string", name === "text" ? undefined : name === "ts" ? `${strings}|\`[^\`]*\`` : strings],
    ["keyword", keywords[name] && `(?<![\\w./$-])(?:${keywords[name]})(?![\\w./$=-])`],
  ] as const;
  const form = kinds.flatMap(([kind, one]) => one === undefined ? [] : [`(?<${kind}>${one})`]).join("|");
  if (form === "") return [{ text: code, kind: null }];
  const parts: CodePart[] = [];
  let end = 0;
  for (const { 0: text, index, groups = {} } of code.matchAll(new RegExp(form, "g"))) {
    if (index > end) parts.push({ text: code.slice(end, index), kind: null });
    const kind = kinds.find(([kind]) => groups[kind] !== undefined)?.[0] ?? null;
    parts.push({ text, kind });
    end = index + text.length;
  }
  return [...parts, { text: code.slice(end), kind: null }];
}
