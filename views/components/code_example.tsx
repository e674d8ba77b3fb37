// Code with a button that copies it: one example, or the same one in several languages, chosen by radio buttons.
import { CopyButton } from "./code.tsx";

/** Code in one language, by the short name of a fenced block: `sh`, `ts`, `py`, `json`. Commands without curl are `bash`. */
export interface CodeSample {
  readonly language: string;
  readonly code: string;
}

const languageNames: Readonly<Record<string, string>> = {
  sh: "Terminal",
  bash: "Shell",
  ts: "TypeScript",
  js: "JavaScript",
  py: "Python",
  go: "Go",
  json: "JSON",
  yaml: "YAML",
  toml: "TOML",
  nginx: "nginx",
  caddyfile: "Caddyfile",
};

/**
 * Shows code with a button that copies it. Without scripts, all languages can be chosen too; static/portal.js chooses the same
 * one everywhere and remembers it.
 *
 * @param props `id`: unique on the page. `title`: names the example. `label`: of a single example, instead of its language.
 */
export function CodeExample(
  { id, title, label, samples, copy }: {
    id: string;
    title: string;
    label?: string;
    samples: readonly CodeSample[];
    /** Copied instead of the shown text. */
    copy?: string;
  },
) {
  const isAlone = samples.length === 1;
  return (
    <div class="code">
      <div class="code-bar">
        {isAlone
          ? <span>{label ?? languageNames[samples[0]?.language ?? ""] ?? "Text"}</span>
          : <Languages id={id} title={title} samples={samples} />}
        <CopyButton target={copy === undefined ? id : `${id}-copy`} tone="quiet">Copy</CopyButton>
      </div>
      {copy !== undefined && <pre id={`${id}-copy`} hidden>{copy}</pre>}
      <div id={id}>
        {samples.map(({ language, code }, index) => (
          <div
            class={`code-scroll${isAlone ? "" : ` panel-${index + 1}`}`}
            tabindex={0}
            role="group"
            aria-label={isAlone ? title : `${title}, ${tabName(language)}`}
          >
            <pre>{highlight(code.trimEnd(), language).map(({ text, kind }) =>
              kind === null ? text : <span class={kind}>{text}</span>
            )}</pre>
          </div>
        ))}
      </div>
    </div>
  );
}

function Languages({ id, title, samples }: { id: string; title: string; samples: readonly CodeSample[] }) {
  return (
    <div class="langs" role="radiogroup" aria-label={`Language of “${title}”`}>
      {samples.map(({ language }, index) => (
        <label>
          <input
            class={`lang-${index + 1}`}
            type="radio"
            name={`${id}-language`}
            value={language}
            checked={index === 0}
          />
          {tabName(language)}
        </label>
      ))}
    </div>
  );
}

/** Commands next to other languages are all for curl. */
function tabName(language: string): string {
  return language === "sh" ? "curl" : languageNames[language] ?? language;
}

// Colors strings, comments and keywords. It needs no grammar: an example that is colored wrong still reads.

interface CodePart {
  readonly text: string;
  readonly kind: "string" | "comment" | "keyword" | null;
}

const keywords: Readonly<Record<string, string>> = {
  sh: "export|while|do|done|for|in|if|then|else|fi|break",
  ts:
    "async|await|break|catch|class|const|else|export|for|from|function|if|import|let|new|of|return|throw|try|type|while",
  py:
    "as|async|await|def|else|except|for|from|if|import|in|is|not|raise|return|try|while|with|None|True|False",
  go: "else|for|func|if|import|nil|package|range|return",
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
const sameAs: Readonly<Record<string, string>> = { js: "ts", bash: "sh" };

function highlight(code: string, language: string): CodePart[] {
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
