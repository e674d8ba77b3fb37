// The search of the documentation: sections with all words, the best first. It reads a list that is made once.
import { docsQueryCharactersMax, type DocsResult } from "../../../views/docs/docs_page.tsx";

export interface DocsSection {
  readonly href: string;
  readonly group: string;
  readonly title: string;
  readonly heading: string;
  readonly text: string;
  /** The words of the title, the heading and the text: see {@linkcode wordsOf}. */
  readonly words: readonly [title: string, heading: string, text: string];
}

const wordsMax = 8;
/** A word counts at most this often in one text. */
const countMax = 5;
const resultsMax = 20;
const excerptCharacters = 180;

/** Divides a page into sections: one before its first heading, and one for each heading. */
export function sectionsOf(
  { path, html, ...page }: { path: string; group: string; title: string; html: string },
): DocsSection[] {
  return html.split(/(?=<h[23] id=")/).map((part) => {
    const [whole = "", id, words = ""] = /^<h[23] id="([^"]+)">.*?<a[^>]*>(.*?)<\/h[23]>/.exec(part) ?? [];
    const heading = plainText(words);
    const text = plainText(part.slice(whole.length));
    return {
      ...page,
      href: id === undefined ? path : `${path}#${id}`,
      heading,
      text,
      words: [wordsOf(page.title), wordsOf(heading), wordsOf(text)],
    };
  });
}

const characters: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };

function plainText(html: string): string {
  // Elements that begin a line end a word. Buttons and the choice of a language are no content.
  return html.replaceAll(/<button[^]*?<\/button>|<div class="(?:code-bar|langs)"[^]*?<\/div>/g, " ")
    .replaceAll(/<\/?(?!span|code|strong|em|a\b|mark)[a-z][^>]*>/g, " ")
    .replaceAll(/<[^>]+>/g, "")
    .replaceAll(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => characters[name] ?? "")
    .replaceAll(/\s+/g, " ").trim();
}

/** Returns the words of a text in lower case, each after a space: anyone can search, so that must be quick for any query. */
function wordsOf(text: string): string {
  return ` ${text.toLowerCase().replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, " ").trim()}`;
}

/** Returns the best sections with all words of a query, each of which may be the beginning of a word. */
export function searchDocs(sections: readonly DocsSection[], query: string): DocsResult[] {
  const words = query.slice(0, docsQueryCharactersMax).toLowerCase().match(/[\p{L}\p{M}\p{N}_]+/gu)
    ?.slice(0, wordsMax) ?? [];
  const wanted = [...new Set(words.map(wordsOf))].filter((word) => word !== " ");
  if (wanted.length === 0) return [];
  const score = ({ words: [title, heading, text] }: DocsSection): number => {
    let sum = 0;
    for (const word of wanted) {
      const one = count(title, word) * (heading === " " ? 20 : 5) + count(heading, word) * 10 +
        count(text, word);
      if (one === 0) return 0;
      sum += one;
    }
    return sum;
  };
  return sections.map((section) => ({ section, score: score(section) })).filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score).slice(0, resultsMax)
    .map(({ section: { text, words: _words, ...section } }) => ({
      ...section,
      excerpt: excerptOf(text, words),
    }));
}

function count(text: string, word: string): number {
  let found = 0;
  for (let at = text.indexOf(word); at !== -1 && found < countMax; at = text.indexOf(word, at + 1)) found++;
  return found;
}

function excerptOf(text: string, words: readonly string[]): DocsResult["excerpt"] {
  const form = new RegExp(`(?<![\\p{L}\\p{M}\\p{N}])(${words.join("|")})`, "giu");
  const found = text.search(form);
  const start = found < excerptCharacters / 2 ? 0 : text.lastIndexOf(" ", found - 60) + 1;
  const end = start + excerptCharacters;
  const shown = `${start > 0 ? "…" : ""}${text.slice(start, end)}${end < text.length ? "…" : ""}`;
  // Every second part is a word that was found.
  return shown.split(form).map((part, index) => ({ text: part, isFound: index % 2 === 1 }));
}
