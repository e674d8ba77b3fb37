// All pages of the documentation: the guides, the API reference, and the search in both.
import { setImmediate } from "node:timers/promises";
import type { DocsArticle, DocsNavigation, DocsResult, DocsText } from "../../../views/docs/docs_page.tsx";
import { errorsHtml, eventsArticle, groupArticles } from "../../../views/docs/reference.tsx";
import type { OpenApiDocument } from "../../api/openapi/openapi.ts";
import { errorsPath, readGuides } from "./guides.ts";
import { referenceErrors, referenceEvents, referenceGroups } from "./reference.ts";
import { type DocsSection, searchDocs, sectionsOf } from "./search.ts";

/** The documentation of a server. Its texts are rendered when they are first read, and kept. */
export class Documentation {
  readonly navigation: readonly DocsNavigation[];
  readonly #articles: ReadonlyMap<string, DocsArticle>;
  readonly #texts = new Map<string, DocsText>();
  #sections: Promise<readonly DocsSection[]> | undefined;

  /** @param origin The address of the server, for examples. */
  constructor(document: OpenApiDocument, origin: string) {
    const guides = readGuides(origin);
    const groups = referenceGroups(document);
    const errors = referenceErrors(document);
    const events = eventsArticle(referenceEvents(document));
    const reference: DocsNavigation = {
      name: "Reference",
      links: [
        ...groups.map(({ path, name, operations }) => ({
          path,
          title: name,
          below: operations.map(({ id, summary }) => ({ path: `${path}/${id}`, title: summary })),
        })),
        events,
        { path: "/api/openapi.json", title: "OpenAPI document" },
      ],
    };
    const ofGuides = guides.map(({ name, articles }) => ({ name, links: articles }));
    this.navigation = [...ofGuides.slice(0, -1), reference, ...ofGuides.slice(-1)];
    const articles = [
      ...guides.flatMap(({ articles }) => articles).map((one) =>
        one.path === errorsPath ? withErrors(one, errorsHtml(errors)) : one
      ),
      ...groups.flatMap(groupArticles),
      events,
    ];
    this.#articles = new Map(articles.map((article) => [article.path, article]));
  }

  find(path: string): { readonly article: DocsArticle; readonly text: DocsText } | null {
    const article = this.#articles.get(path);
    if (article === undefined) return null;
    const text = this.#texts.get(path) ?? article.render();
    this.#texts.set(path, text);
    return { article, text };
  }

  async search(query: string): Promise<DocsResult[]> {
    this.#sections ??= this.#readSections();
    return searchDocs(await this.#sections, query);
  }

  /** Other requests are handled between two pages. */
  async #readSections(): Promise<DocsSection[]> {
    const sections: DocsSection[] = [];
    for (const { name, links } of this.navigation) {
      for (const { path, title } of links.flatMap((link) => [link, ...link.below ?? []])) {
        await setImmediate();
        const text = this.find(path)?.text;
        if (text === undefined) continue;
        sections.push(...sectionsOf({ path, group: name, title, html: `<p>${text.lead}</p>${text.html}` }));
      }
    }
    return sections;
  }
}

function withErrors(article: DocsArticle, errors: string): DocsArticle {
  return {
    ...article,
    render() {
      const { lead, html } = article.render();
      return { lead, html: html + errors };
    },
  };
}
