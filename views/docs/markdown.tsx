// The guides of docs/: their Markdown as HTML, with the components of the other pages.
import { Marked, type MarkedExtension, type Token, type Tokens } from "marked";
import { raw } from "hono/html";
import type { Child } from "hono/jsx";
import { CodeExample, type CodeSample } from "../components/code_example.tsx";

export interface MarkdownPart {
  readonly tokens: readonly Token[];
  readonly anchors: readonly string[];
}

interface MarkdownOptions {
  /** Returns the served address of a relative link; null if its target isn't served. */
  readonly link: (href: string) => string | null;
  readonly code: (text: string) => string;
}

interface MarkdownStart {
  readonly anchor: string;
  /** The heading is the page's title, so it is left out, and those below it are one level higher. */
  readonly isTitle: boolean;
}

/** Divides a guide by the anchors at which its pages begin, "" first. @throws {Error} Without such a heading. */
export function splitMarkdown(
  markdown: string,
  starts: readonly MarkdownStart[],
): ReadonlyMap<string, MarkdownPart> {
  const tokens = new Marked().lexer(markdown).filter((token) => !isHeading(token, 1));
  const found = starts.map((start) => {
    const from = tokens.findIndex((token) => isHeading(token, 2) && anchorOf(token.text) === start.anchor);
    if (from === -1) throw new Error(`no heading has the anchor ${start.anchor}`);
    return { ...start, from };
  }).sort((a, b) => a.from - b.from);
  const all = [{ anchor: "", isTitle: false, from: 0 }, ...found];
  return new Map(all.map(({ anchor, isTitle, from }, index) => {
    const own = tokens.slice(from, all[index + 1]?.from);
    const anchors = own.flatMap((token) => isHeading(token) ? [anchorOf(token.text)] : []);
    return [anchor, { anchors, tokens: isTitle ? raised(own.slice(1)) : own }];
  }));
}

/** Raises the headings below the one that is now the title by one level. */
function raised(tokens: readonly Token[]): Token[] {
  const end = tokens.findIndex((token) => isHeading(token, 2));
  return tokens.map((token, index) =>
    isHeading(token) && (end === -1 || index < end) ? { ...token, depth: token.depth - 1 } : token
  );
}

function isHeading(token: Token, depth?: number): token is Tokens.Heading {
  return token.type === "heading" && (depth === undefined || token["depth"] === depth);
}

/** Returns the same anchor as GitHub. */
function anchorOf(heading: string): string {
  return heading.toLowerCase().replaceAll(/[^\p{L}\p{M}\p{N}_ -]/gu, "").replaceAll(" ", "-");
}

/** Renders a part as HTML. `lead`: its first paragraph, without an element, if it begins with one. */
export function renderMarkdown(
  { tokens }: MarkdownPart,
  options: MarkdownOptions,
): { lead: string; html: string } {
  const marked = new Marked({ renderer: renderer(options) });
  let heading = "Example";
  let count = 0;
  const example = (samples: readonly CodeSample[]) => {
    count++;
    const changed = samples.map(({ language, code }) => ({ language, code: options.code(code) }));
    return String(<CodeExample id={`code-${count}`} title={heading} samples={changed} />);
  };
  const [first, ...rest] = grouped(tokens).map((group) => {
    if (Array.isArray(group)) return example(group);
    if (isHeading(group)) heading = group.text.replaceAll("`", "");
    return marked.parser([group]);
  });
  const [, lead] = /^<p>([^]*)<\/p>$/.exec(first ?? "") ?? [];
  return { lead: lead ?? "", html: (lead === undefined ? first ?? "" : "") + rest.join("") };
}

/** Joins code blocks in different languages that follow each other: the same example for several readers. */
function grouped(tokens: readonly Token[]): (Token | CodeSample[])[] {
  const groups: (Token | CodeSample[])[] = [];
  // Comments name the test that runs a block.
  for (const token of tokens.filter(({ type }) => type !== "space" && type !== "html")) {
    if (token.type !== "code") {
      groups.push(token);
      continue;
    }
    const { lang = "", text } = token as Tokens.Code;
    const language = lang.split(" ")[0] ?? "";
    const last = groups.at(-1);
    const isSame = Array.isArray(last) && !last.some((one) => one.language === language);
    if (isSame) last.push({ language, code: text });
    else groups.push([{ language, code: text }]);
  }
  return groups;
}

type Renderer = NonNullable<MarkedExtension["renderer"]>;

function renderer({ link, code }: MarkdownOptions): Renderer {
  return {
    html: () => "",
    image: () => "",
    heading({ depth, text, tokens }) {
      const words = this.parser.parseInline(tokens);
      const [, step] = /^(\d+)\. /.exec(text) ?? [];
      return String(
        <Heading level={depth === 2 ? 2 : 3} id={anchorOf(text)} step={step}>
          {raw(step === undefined ? words : words.slice(step.length + 2))}
        </Heading>,
      );
    },
    paragraph({ tokens }) {
      const words = this.parser.parseInline(tokens);
      return words.trim() === "" ? "" : `<p>${words}</p>`;
    },
    link({ href, tokens }) {
      const words = this.parser.parseInline(tokens);
      const to = link(href);
      return to === null ? words : String(<a href={to}>{raw(words)}</a>);
    },
    codespan: ({ text }) => String(<code>{code(text)}</code>),
    table({ header, rows }) {
      const inline = ({ tokens }: Tokens.TableCell) => raw(this.parser.parseInline(tokens));
      return String(
        <DocTable
          header={header.map((cell) => ({
            label: cell.text.replaceAll("`", ""),
            content: inline(cell),
            isNumber: cell.align === "right",
          }))}
          rows={rows.map((row) => row.map(inline))}
        />,
      );
    },
    list({ items, ordered }) {
      const links = items.map(({ text }) => /^\[([^\]]+)\]\(([^)]+)\): ([^]+)$/.exec(text));
      if (ordered || !links.every((one) => one !== null)) return false;
      return String(
        <NextLinks
          links={links.map(([, title = "", href = "", text = ""]) => ({
            title,
            href: link(href) ?? href,
            text,
          }))}
        />,
      );
    },
  };
}

/** A heading with a link to itself, which the table of contents and the search find by its form. */
export function Heading(
  { level, id, step, children }: { level: 2 | 3; id: string; step?: string | undefined; children: Child },
) {
  const Tag = level === 2 ? "h2" : "h3";
  return (
    <Tag id={id}>
      {step === undefined ? null : <span class="step">{step}</span>}
      <a href={`#${id}`}>{children}</a>
    </Tag>
  );
}

/** On phones, each cell is below the label of its column. */
function DocTable({ header, rows }: {
  header: readonly { readonly label: string; readonly content: Child; readonly isNumber: boolean }[];
  rows: readonly (readonly Child[])[];
}) {
  const numbers = header.map(({ isNumber }) => isNumber ? "num" : undefined);
  return (
    <div class="doc-table" tabindex={0} role="group" aria-label="Table">
      <table>
        <thead>
          <tr>{header.map(({ content }, at) => <th scope="col" class={numbers[at]}>{content}</th>)}</tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {row.map((cell, at) => <td class={numbers[at]} data-label={header[at]?.label}>{cell}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function NextLinks({ links }: { links: readonly { title: string; href: string; text: string }[] }) {
  return (
    <div class="next-links">
      {links.map(({ title, href, text }) => (
        <a href={href}>
          <strong>{title}</strong>
          <span>{text}</span>
        </a>
      ))}
    </div>
  );
}
