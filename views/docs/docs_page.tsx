// The page around every text of the documentation: navigation, search, and the page's contents.
import { raw } from "hono/html";
import type { Child } from "hono/jsx";
import { Brand } from "../components/brand.tsx";
import { Icon } from "../components/icon.tsx";
import { Menu } from "../components/menu.tsx";
import { type Assets, IndexedPage, type Page } from "../layout.tsx";

export const docsQueryCharactersMax = 100;

interface DocsLink {
  readonly path: string;
  readonly title: string;
  /** Pages below it, shown on them and on the page itself. */
  readonly below?: readonly DocsLink[];
}

export interface DocsNavigation {
  readonly name: string;
  readonly links: readonly DocsLink[];
}

/** Null without a session. */
export type DocsReader = { readonly organization: string | null } | null;

export interface DocsFrame {
  readonly assets: Assets;
  readonly navigation: readonly DocsNavigation[];
  readonly version: string;
  readonly reader: DocsReader;
}

export interface DocsArticle {
  readonly path: string;
  readonly title: string;
  readonly render: () => DocsText;
}

export interface DocsText {
  /** Its first paragraph, as HTML; empty without one. */
  readonly lead: string;
  /** The rest, as HTML. Its second-level headings are the table of contents. */
  readonly html: string;
}

/** `origin`: the address of the service, on the page that shows it. */
export function docsPage(
  { frame, article: { path, title }, text: { lead, html }, origin }: {
    frame: DocsFrame;
    article: Pick<DocsArticle, "path" | "title">;
    text: DocsText;
    origin: string | null;
  },
): Page {
  const contents = contentsOf(html);
  return (
    <IndexedPage title={title} assets={frame.assets} index={<Side frame={frame} path={path} query="" />}>
      <div class="doc">
        <article class="article">
          <h1>{title}</h1>
          {lead === "" ? null : <p class="lead">{raw(lead)}</p>}
          {origin === null ? null : <Address origin={origin} reader={frame.reader} />}
          {raw(html)}
        </article>
        {contents.length < 2 ? null : (
          <nav class="toc" aria-label="On this page">
            <strong class="tiny">On this page</strong>
            <ul>
              {contents.map(({ id, words }) => (
                <li>
                  <a href={`#${id}`}>{raw(words)}</a>
                </li>
              ))}
            </ul>
          </nav>
        )}
      </div>
    </IndexedPage>
  );
}

export interface DocsResult {
  readonly href: string;
  readonly group: string;
  readonly title: string;
  /** The section of the page; empty at its start. */
  readonly heading: string;
  /** The text around the words that were found, which are marked. */
  readonly excerpt: readonly { readonly text: string; readonly isFound: boolean }[];
}

/** `query` is empty before a search. */
export function docsSearchPage(
  { frame, query, results }: { frame: DocsFrame; query: string; results: readonly DocsResult[] },
): Page {
  return (
    <IndexedPage
      title={query === "" ? "Search" : `“${query}”`}
      assets={frame.assets}
      index={<Side frame={frame} path="/docs/search" query={query} />}
    >
      <div class="doc">
        <article class="article">
          <h1>Search</h1>
          <p class="lead" role="status">{summary(query, results.length)}</p>
          <ul class="doc-results">
            {results.map(({ href, group, title, heading, excerpt }) => (
              <li>
                <a href={href}>{heading === "" ? title : `${title} › ${heading}`}</a>
                <span class="muted tiny">{group}</span>
                <p>{excerpt.map(({ text, isFound }) => isFound ? <mark>{text}</mark> : text)}</p>
              </li>
            ))}
          </ul>
        </article>
      </div>
    </IndexedPage>
  );
}

function summary(query: string, count: number): Child {
  if (query === "") return "Enter what you are looking for, such as an error code, an endpoint or a setting.";
  const quoted = (
    <>
      “<bdi>{query}</bdi>”
    </>
  );
  if (count === 0) return <>No results for {quoted}. Try fewer or other words.</>;
  return <>{count === 1 ? "1 result" : `${count} results`} for {quoted}</>;
}

function Address({ origin, reader }: { origin: string; reader: DocsReader }) {
  return (
    <div class="note plain">
      <div>
        <Icon name="info" />
        <p class="small">
          {reader?.organization
            ? (
              <>
                You are signed in to{" "}
                <strong>
                  <bdi>{reader.organization}</bdi>
                </strong>. The examples use your address,
              </>
            )
            : "The examples use the address of this service,"} <code>{origin}</code>.
        </p>
      </div>
    </div>
  );
}

function Side({ frame, path, query }: { frame: DocsFrame; path: string; query: string }) {
  const { navigation, version, reader } = frame;
  const groups = navigation.map((group) => <Group group={group} path={path} />);
  return (
    <header class="side docs-side">
      <Brand href="/portal" brand={frame.assets.brand} />
      <Menu class="doc-menu" label="Contents" isAtEnd>
        <nav aria-label="Documentation, menu">
          {groups}
          <Back reader={reader} />
        </nav>
      </Menu>
      <form class="search" role="search" action="/docs/search">
        <Icon name="search" />
        <input
          type="search"
          name="q"
          value={query}
          maxlength={docsQueryCharactersMax}
          aria-label="Search the documentation"
          placeholder="Search documentation"
        />
      </form>
      <nav class="places" aria-label="Documentation">{groups}</nav>
      <div class="foot">
        <Back reader={reader} />
        <span class="muted tiny">
          Gatehouse {version} · <a href="/download/">Downloads</a>
        </span>
      </div>
    </header>
  );
}

function Group({ group: { name, links }, path }: { group: DocsNavigation; path: string }) {
  return (
    <>
      <p class="doc-group">{name}</p>
      <ul>
        {links.map((link) => (
          <li>
            <PlaceLink link={link} path={path} />
            {link.below !== undefined && (path === link.path || path.startsWith(`${link.path}/`)) && (
              <ul class="doc-below">
                {link.below.map((one) => (
                  <li>
                    <PlaceLink link={one} path={path} />
                  </li>
                ))}
              </ul>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

function PlaceLink({ link, path }: { link: DocsLink; path: string }) {
  return <a href={link.path} aria-current={link.path === path ? "page" : undefined}>{link.title}</a>;
}

function Back({ reader }: { reader: DocsReader }) {
  return reader === null
    ? <a class="up-link" href="/sign-in?return_to=%2Fdocs">Sign in</a>
    : (
      <a class="up-link" href="/portal">
        <Icon name="back" />
        Back to the portal
      </a>
    );
}

/** Returns the second-level headings of a text, which have the form of `Heading`. */
function contentsOf(html: string): { id: string; words: string }[] {
  return [...html.matchAll(/<h2 id="([^"]+)">(?:<span[^>]*>[^<]*<\/span>)?<a[^>]*>(.*?)<\/a><\/h2>/g)].map((
    [, id = "", words = ""],
  ) => ({ id, words }));
}
