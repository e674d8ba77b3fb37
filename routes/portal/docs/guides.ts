// The guides: maps parts of files in docs/ to pages. The files are embedded in the program.
import aiBudgets from "../../../docs/ai-budgets.md" with { type: "text" };
import apiKeys from "../../../docs/api-keys.md" with { type: "text" };
import apache from "../../../docs/apache.md" with { type: "text" };
import api from "../../../docs/api.md" with { type: "text" };
import billing from "../../../docs/billing.md" with { type: "text" };
import brand from "../../../docs/brand.md" with { type: "text" };
import budgets from "../../../docs/budgets.md" with { type: "text" };
import caddy from "../../../docs/caddy.md" with { type: "text" };
import client from "../../../docs/client.md" with { type: "text" };
import cloudEvents from "../../../docs/cloudevents.md" with { type: "text" };
import collectors from "../../../docs/collectors.md" with { type: "text" };
import concepts from "../../../docs/concepts.md" with { type: "text" };
import counting from "../../../docs/counting.md" with { type: "text" };
import dimensions from "../../../docs/dimensions.md" with { type: "text" };
import embed from "../../../docs/embed.md" with { type: "text" };
import envoy from "../../../docs/envoy.md" with { type: "text" };
import forwardAuth from "../../../docs/forward-auth.md" with { type: "text" };
import guarantees from "../../../docs/guarantees.md" with { type: "text" };
import haproxy from "../../../docs/haproxy.md" with { type: "text" };
import kong from "../../../docs/kong.md" with { type: "text" };
import leakedKeys from "../../../docs/leaked-keys.md" with { type: "text" };
import mcp from "../../../docs/mcp.md" with { type: "text" };
import litellm from "../../../docs/litellm.md" with { type: "text" };
import metering from "../../../docs/metering.md" with { type: "text" };
import moveFromUnkey from "../../../docs/move-from-unkey.md" with { type: "text" };
import moveUsage from "../../../docs/move-usage.md" with { type: "text" };
import nginx from "../../../docs/nginx.md" with { type: "text" };
import openid from "../../../docs/openid.md" with { type: "text" };
import operations from "../../../docs/operations.md" with { type: "text" };
import operators from "../../../docs/operators.md" with { type: "text" };
import portkey from "../../../docs/portkey.md" with { type: "text" };
import prepaid from "../../../docs/prepaid.md" with { type: "text" };
import quickStart from "../../../docs/quick-start.md" with { type: "text" };
import releases from "../../../docs/releases.md" with { type: "text" };
import reverseProxy from "../../../docs/reverse-proxy.md" with { type: "text" };
import scaling from "../../../docs/scaling.md" with { type: "text" };
import settings from "../../../docs/settings.md" with { type: "text" };
import signInWith from "../../../docs/sign-in-with.md" with { type: "text" };
import singleSignOn from "../../../docs/single-sign-on.md" with { type: "text" };
import traefik from "../../../docs/traefik.md" with { type: "text" };
import webhooks from "../../../docs/webhooks.md" with { type: "text" };
import whoMjs from "../../../examples/command-line/who.mjs" with { type: "text" };
import embeddingTs from "../../../examples/embedding/embedding.ts" with { type: "text" };
import mcpServerMjs from "../../../examples/mcp/mcp_server.mjs" with { type: "text" };
import signedInServerMjs from "../../../examples/mcp/signed_in_server.mjs" with { type: "text" };
import gatehouseLitellmPy from "../../../examples/litellm/gatehouse_litellm.py" with { type: "text" };
import appPy from "../../../examples/metering/app.py" with { type: "text" };
import appMjs from "../../../examples/metering/app.mjs" with { type: "text" };
import mainGo from "../../../examples/metering/main.go" with { type: "text" };
import meterGo from "../../../examples/metering/meter.go" with { type: "text" };
import gatewayTs from "../../../examples/portkey/gateway.ts" with { type: "text" };
import accessTs from "../../../examples/webhooks/access.ts" with { type: "text" };
import billingTs from "../../../examples/webhooks/billing.ts" with { type: "text" };
import chatTs from "../../../examples/webhooks/chat.ts" with { type: "text" };
import type { DocsArticle } from "../../../views/docs/docs_page.tsx";
import { downloadsPath } from "./downloads.ts";
import { type MarkdownPart, renderMarkdown, splitMarkdown } from "../../../views/docs/markdown.tsx";

/** Examples are served below this path. */
const examplesPath = "/docs/examples";

export const exampleFiles: ReadonlyMap<string, string> = new Map([
  ["meter.go", meterGo],
  ["app.mjs", appMjs],
  ["app.py", appPy],
  ["main.go", mainGo],
  ["chat.ts", chatTs],
  ["billing.ts", billingTs],
  ["access.ts", accessTs],
  ["embedding.ts", embeddingTs],
  ["mcp_server.mjs", mcpServerMjs],
  ["signed_in_server.mjs", signedInServerMjs],
  ["who.mjs", whoMjs],
  ["gatehouse_litellm.py", gatehouseLitellmPy],
  ["gateway.ts", gatewayTs],
]);

const files: Readonly<Record<string, string>> = {
  "quick-start.md": quickStart,
  "concepts.md": concepts,
  "metering.md": metering,
  "counting.md": counting,
  "dimensions.md": dimensions,
  "brand.md": brand,
  "client.md": client,
  "api-keys.md": apiKeys,
  "leaked-keys.md": leakedKeys,
  "sign-in-with.md": signInWith,
  "single-sign-on.md": singleSignOn,
  "forward-auth.md": forwardAuth,
  "cloudevents.md": cloudEvents,
  "webhooks.md": webhooks,
  "embed.md": embed,
  "api.md": api,
  "operators.md": operators,
  "move-from-unkey.md": moveFromUnkey,
  "move-usage.md": moveUsage,
  "openid.md": openid,
  "operations.md": operations,
  "releases.md": releases,
  "reverse-proxy.md": reverseProxy,
  "scaling.md": scaling,
  "settings.md": settings,
  "billing.md": billing,
  "prepaid.md": prepaid,
  "budgets.md": budgets,
  "ai-budgets.md": aiBudgets,
  "collectors.md": collectors,
  "mcp.md": mcp,
  "litellm.md": litellm,
  "traefik.md": traefik,
  "envoy.md": envoy,
  "kong.md": kong,
  "portkey.md": portkey,
  "guarantees.md": guarantees,
  "nginx.md": nginx,
  "caddy.md": caddy,
  "haproxy.md": haproxy,
  "apache.md": apache,
};

/** The list of all errors follows what this page says about them. */
export const errorsPath = "/docs/errors";

type GuideRow = readonly [title: string, start: string, options?: { readonly keepsHeading: true }];

/**
 * The groups of the navigation, with pages by path. Integrators need all but the last one, which the people who run the service need. A
 * page starts in its file at the anchor of a heading, which the title replaces by default, and ends where another page starts.
 */
const groups: Readonly<Record<string, Readonly<Record<string, GuideRow>>>> = {
  "Start": {
    "/docs": ["Quick start", "quick-start.md"],
    "/docs/concepts": ["How it fits together", "concepts.md"],
    "/docs/api": ["API basics", "api.md"],
    [errorsPath]: ["Errors", "api.md#handle-errors"],
  },
  "Guides": {
    "/docs/record-usage": ["Record usage", "metering.md#record-usage"],
    "/docs/read-usage": ["Read usage", "metering.md#read-usage"],
    "/docs/dimensions": ["Usage by region or model", "dimensions.md"],
    "/docs/counting": ["Peaks, levels and seats", "counting.md"],
    "/docs/limits": ["Limits and budgets", "metering.md#stay-within-limits"],
    "/docs/budgets": ["Exact budgets", "budgets.md"],
    "/docs/alerts": ["Alerts", "metering.md#get-alerts-about-usage"],
    "/docs/clients": ["Metering clients", "metering.md#add-a-meter-to-your-application"],
    "/docs/client": ["Check sessions and keys", "client.md"],
    "/docs/meter": ["Meter usage from your server", "client.md#meter-usage"],
    "/docs/cloudevents": ["CloudEvents", "cloudevents.md"],
    "/docs/webhooks": ["Webhooks", "webhooks.md"],
    "/docs/api-keys": ["Manage API keys", "api-keys.md"],
    "/docs/leaked-keys": ["Handle a leaked key", "leaked-keys.md"],
    "/docs/find-keys": ["Find leaked keys", "leaked-keys.md#find-leaked-keys"],
    "/docs/verify-keys": ["Verify a key", "operators.md#verify-keys"],
    "/docs/embed": ["Embed the portal", "embed.md"],
    "/docs/sign-in": ["Sign in to your product", "single-sign-on.md#use-the-browser-client"],
    "/docs/single-sign-on": ["Try single sign-on", "single-sign-on.md"],
    "/docs/forward-auth": ["Protect a proxy", "forward-auth.md"],
    "/docs/proxy-configuration": ["Proxy configuration", "forward-auth.md#nginx", { keepsHeading: true }],
  },
  "Gateways and models": {
    "/docs/ai-budgets": ["AI budgets in ten minutes", "ai-budgets.md"],
    "/docs/collectors": ["Usage from gateways", "collectors.md"],
    "/docs/litellm": ["LiteLLM", "litellm.md"],
    "/docs/mcp": ["MCP servers", "mcp.md"],
    "/docs/portkey": ["Portkey", "portkey.md"],
    "/docs/kong": ["Kong", "kong.md"],
    "/docs/nginx": ["nginx", "nginx.md"],
    "/docs/caddy": ["Caddy", "caddy.md"],
    "/docs/haproxy": ["HAProxy", "haproxy.md"],
    "/docs/apache": ["Apache", "apache.md"],
    "/docs/traefik": ["Traefik", "traefik.md"],
    "/docs/envoy": ["Envoy", "envoy.md"],
  },
  "Run it": {
    "/docs/install": ["Install", "operations.md"],
    "/docs/reverse-proxy": ["Reverse proxy", "reverse-proxy.md"],
    "/docs/settings": ["Settings", "settings.md"],
    "/docs/releases": ["Releases", "releases.md"],
    "/docs/sign-in-with": ["Sign in with a provider", "sign-in-with.md"],
    "/docs/openid": ["Sign in to applications", "openid.md"],
    "/docs/brand": ["Name, logo and color", "brand.md"],
    "/docs/backup": ["Back up and restore", "operations.md#back-up", { keepsHeading: true }],
    "/docs/scaling": ["Move to a server", "scaling.md"],
    "/docs/monitor": ["Monitor", "operations.md#monitor"],
    "/docs/runbook": ["Runbook", "operations.md#runbook"],
    "/docs/operators": ["Operators", "operators.md"],
    "/docs/customers": ["Manage customers", "operators.md#create-and-find-organizations", {
      keepsHeading: true,
    }],
    "/docs/move-from-unkey": ["Move from Unkey", "move-from-unkey.md"],
    "/docs/move-usage": ["Move usage", "move-usage.md"],
    "/docs/billing": ["Bill by statements", "billing.md"],
    "/docs/prepaid": ["Sell usage in advance", "prepaid.md"],
    "/docs/guarantees": ["Guarantees and limits", "guarantees.md"],
  },
};

const allPages = Object.entries(groups).flatMap(([group, pages]) =>
  Object.entries(pages).map(([path, [title, start, options]]) => {
    const [file = "", anchor = ""] = start.split("#");
    return { group, path, title, file, anchor, isTitle: anchor !== "" && !options?.keepsHeading };
  })
);
type GuidePage = typeof allPages[number];

export const guideLinks: readonly { readonly path: string; readonly title: string }[] = allPages;

/** The address of the service in the guides. Settings and files of proxies keep it, as they have other names of that domain too. */
const exampleOrigin = /https:\/\/auth\.example\.com(?![\w.:])/g;

/** Reads the guides by group. `origin`: of this service. */
export function readGuides(origin: string): { name: string; articles: DocsArticle[] }[] {
  const parts = new Map(Object.entries(files).map(([file, markdown]) => [file, partsOf(file, markdown)]));
  const partOf = ({ file, anchor }: GuidePage) => {
    const part = parts.get(file)?.get(anchor);
    if (part === undefined) throw new Error(`docs/${file} has no part #${anchor}`);
    return part;
  };
  const placed = allPages.map((page) => ({ page, anchors: partOf(page).anchors }));
  return [...Map.groupBy(allPages, ({ group }) => group)].map(([name, pages]) => {
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

function partsOf(file: string, markdown: string): ReadonlyMap<string, MarkdownPart> {
  return splitMarkdown(markdown, allPages.filter((page) => page.file === file && page.anchor !== ""));
}

/** Returns the served address of a guide's link; null for files that aren't served, such as the decisions. */
function addressOf(
  href: string,
  from: GuidePage,
  placed: readonly { readonly page: GuidePage; readonly anchors: readonly string[] }[],
): string | null {
  if (/^https?:/.test(href)) return href.endsWith(downloadsPath) ? downloadsPath : href;
  if (href === "../packages/python/gatehouse.py") return `${downloadsPath}gatehouse.py`;
  const example = /^\.\.\/examples\/\w+\/(\w+\.\w+)$/.exec(href)?.[1];
  if (example !== undefined) return `${examplesPath}/${example}`;
  if (href.startsWith("../README.md")) return "/docs";
  const [name = "", anchor = ""] = href.split("#");
  const file = name === "" ? from.file : name;
  const pages = placed.filter(({ page }) => page.file === file);
  const to = anchor === ""
    ? pages.find(({ page }) => page.anchor === "") ?? pages[0]
    : pages.find(({ anchors }) => anchors.includes(anchor));
  if (to === undefined) return null;
  const { path, isTitle } = to.page;
  if (anchor === "" || (isTitle && anchor === to.page.anchor)) return path;
  return `${to.page === from ? "" : path}#${anchor}`;
}
