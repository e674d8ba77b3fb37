// The guides: which part of which file in docs/ is which page. The files are embedded in the program.
import apiKeys from "../../../docs/api-keys.md" with { type: "text" };
import api from "../../../docs/api.md" with { type: "text" };
import billing from "../../../docs/billing.md" with { type: "text" };
import client from "../../../docs/client.md" with { type: "text" };
import cloudEvents from "../../../docs/cloudevents.md" with { type: "text" };
import concepts from "../../../docs/concepts.md" with { type: "text" };
import forwardAuth from "../../../docs/forward-auth.md" with { type: "text" };
import guarantees from "../../../docs/guarantees.md" with { type: "text" };
import metering from "../../../docs/metering.md" with { type: "text" };
import operations from "../../../docs/operations.md" with { type: "text" };
import operators from "../../../docs/operators.md" with { type: "text" };
import quickStart from "../../../docs/quick-start.md" with { type: "text" };
import reverseProxy from "../../../docs/reverse-proxy.md" with { type: "text" };
import settings from "../../../docs/settings.md" with { type: "text" };
import singleSignOn from "../../../docs/single-sign-on.md" with { type: "text" };
import appPy from "../../../examples/metering/app.py" with { type: "text" };
import appMjs from "../../../examples/metering/app.mjs" with { type: "text" };
import mainGo from "../../../examples/metering/main.go" with { type: "text" };
import meterGo from "../../../examples/metering/meter.go" with { type: "text" };
import gatehousePy from "../../../packages/python/gatehouse.py" with { type: "text" };
import type { DocsArticle } from "../../../views/docs/docs_page.tsx";
import { type MarkdownPart, renderMarkdown, splitMarkdown } from "../../../views/docs/markdown.tsx";

/** The metering clients are served below this path. */
export const examplesPath = "/docs/examples";

/** The clients and the applications of `examples/metering/`, by name. */
export const exampleFiles: ReadonlyMap<string, string> = new Map([
  ["gatehouse.py", gatehousePy],
  ["meter.go", meterGo],
  ["app.mjs", appMjs],
  ["app.py", appPy],
  ["main.go", mainGo],
]);

const files: Readonly<Record<string, string>> = {
  "quick-start.md": quickStart,
  "concepts.md": concepts,
  "metering.md": metering,
  "client.md": client,
  "api-keys.md": apiKeys,
  "single-sign-on.md": singleSignOn,
  "forward-auth.md": forwardAuth,
  "cloudevents.md": cloudEvents,
  "api.md": api,
  "operators.md": operators,
  "operations.md": operations,
  "reverse-proxy.md": reverseProxy,
  "settings.md": settings,
  "billing.md": billing,
  "guarantees.md": guarantees,
};

/** The list of all errors follows what this page says about them. */
export const errorsPath = "/docs/errors";

interface GuidePage {
  readonly path: string;
  readonly title: string;
  readonly file: string;
  /** The anchor of the heading where the page begins, if not at the start of the file. It ends where another page begins. */
  readonly from?: string;
  /** The same, for a heading that the page's title replaces. */
  readonly insteadOf?: string;
}

/** The groups of the navigation. Integrators need the first two, the people who run the service the last one. */
const groups: readonly { readonly name: string; readonly pages: readonly GuidePage[] }[] = [
  {
    name: "Start",
    pages: [
      { path: "/docs", title: "Quick start", file: "quick-start.md" },
      { path: "/docs/concepts", title: "How it fits together", file: "concepts.md" },
      { path: "/docs/api", title: "API basics", file: "api.md" },
      { path: errorsPath, title: "Errors", file: "api.md", insteadOf: "handle-errors" },
    ],
  },
  {
    name: "Guides",
    pages: [
      { path: "/docs/record-usage", title: "Record usage", file: "metering.md", insteadOf: "record-usage" },
      { path: "/docs/read-usage", title: "Read usage", file: "metering.md", insteadOf: "read-usage" },
      {
        path: "/docs/limits",
        title: "Limits and budgets",
        file: "metering.md",
        insteadOf: "stay-within-limits",
      },
      {
        path: "/docs/clients",
        title: "Metering clients",
        file: "metering.md",
        insteadOf: "add-a-meter-to-your-application",
      },
      { path: "/docs/client", title: "Check sessions and keys", file: "client.md" },
      {
        path: "/docs/meter",
        title: "Meter usage from your server",
        file: "client.md",
        insteadOf: "meter-usage",
      },
      { path: "/docs/cloudevents", title: "CloudEvents", file: "cloudevents.md" },
      { path: "/docs/api-keys", title: "Manage API keys", file: "api-keys.md" },
      {
        path: "/docs/leaked-keys",
        title: "Respond to a leaked key",
        file: "api-keys.md",
        insteadOf: "respond-to-a-leaked-key",
      },
      {
        path: "/docs/find-keys",
        title: "Find leaked keys",
        file: "api-keys.md",
        insteadOf: "find-leaked-keys",
      },
      { path: "/docs/verify-keys", title: "Verify a key", file: "operators.md", insteadOf: "verify-keys" },
      {
        path: "/docs/sign-in",
        title: "Sign in to your product",
        file: "single-sign-on.md",
        insteadOf: "use-the-browser-client",
      },
      { path: "/docs/single-sign-on", title: "Try single sign-on", file: "single-sign-on.md" },
      { path: "/docs/forward-auth", title: "Protect a proxy", file: "forward-auth.md" },
      {
        path: "/docs/proxy-configuration",
        title: "Proxy configuration",
        file: "forward-auth.md",
        from: "nginx",
      },
    ],
  },
  {
    name: "Run it",
    pages: [
      { path: "/docs/install", title: "Install", file: "operations.md" },
      { path: "/docs/reverse-proxy", title: "Reverse proxy", file: "reverse-proxy.md" },
      { path: "/docs/settings", title: "Settings", file: "settings.md" },
      { path: "/docs/backup", title: "Back up and restore", file: "operations.md", from: "back-up" },
      { path: "/docs/monitor", title: "Monitor", file: "operations.md", insteadOf: "monitor" },
      { path: "/docs/runbook", title: "Runbook", file: "operations.md", insteadOf: "runbook" },
      { path: "/docs/operators", title: "Operators", file: "operators.md" },
      {
        path: "/docs/customers",
        title: "Manage customers",
        file: "operators.md",
        from: "create-and-find-organizations",
      },
      { path: "/docs/billing", title: "Bill by statements", file: "billing.md" },
      { path: "/docs/guarantees", title: "Guarantees and limits", file: "guarantees.md" },
    ],
  },
];

export interface DocsGuideGroup {
  readonly name: string;
  readonly articles: readonly DocsArticle[];
}

/** The address of the service in the guides. Settings and files of proxies keep it, as they have other names of that domain too. */
const exampleOrigin = /https:\/\/auth\.example\.com(?![\w.:])/g;

/** Reads the guides by group. `origin`: of this service. */
export function readGuides(origin: string): DocsGuideGroup[] {
  const parts = new Map(Object.entries(files).map(([file, markdown]) => [file, partsOf(file, markdown)]));
  const partOf = (page: GuidePage) => parts.get(page.file)?.get(startOf(page)) ?? { tokens: [], anchors: [] };
  const placed = allPages.map((page) => ({ page, anchors: partOf(page).anchors }));
  return groups.map(({ name, pages }) => {
    const own = (text: string) => name === "Run it" ? text : text.replaceAll(exampleOrigin, origin);
    return {
      name,
      articles: pages.map((page) => ({
        path: page.path,
        title: page.title,
        render: () =>
          renderMarkdown(partOf(page), { code: own, link: (href) => addressOf(own(href), page, placed) }),
      })),
    };
  });
}

const allPages = groups.flatMap(({ pages }) => pages);
const startOf = (page: GuidePage): string => page.insteadOf ?? page.from ?? "";

function partsOf(file: string, markdown: string): ReadonlyMap<string, MarkdownPart> {
  const starts = allPages.filter((page) => page.file === file && startOf(page) !== "");
  return splitMarkdown(
    markdown,
    starts.map((page) => ({ anchor: startOf(page), isTitle: page.insteadOf !== undefined })),
  );
}

/** Returns the served address of a guide's link; null for files that aren't served, such as the decisions. */
function addressOf(
  href: string,
  from: GuidePage,
  placed: readonly { readonly page: GuidePage; readonly anchors: readonly string[] }[],
): string | null {
  if (/^https?:/.test(href)) return href;
  const example = /^\.\.\/(?:examples\/metering|packages\/python)\/(\w+\.\w+)$/.exec(href)?.[1];
  if (example !== undefined) return `${examplesPath}/${example}`;
  if (href.startsWith("../README.md")) return "/docs";
  const [name = "", anchor = ""] = href.split("#");
  const file = name === "" ? from.file : name;
  const pages = placed.filter(({ page }) => page.file === file);
  const to = anchor === ""
    ? pages.find(({ page }) => startOf(page) === "") ?? pages[0]
    : pages.find(({ anchors }) => anchors.includes(anchor));
  if (to === undefined) return null;
  const { path, insteadOf } = to.page;
  if (anchor === "" || anchor === insteadOf) return path;
  return `${to.page === from ? "" : path}#${anchor}`;
}
