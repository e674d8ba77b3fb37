// Lists open with their last filters, which a cookie of the page remembers. An address with filters always wins. Searches are
// not remembered, as they may contain email addresses or secrets, and neither is what belongs to another organization.
import type { Session } from "../../domain/access/session.ts";
import { cookieValues } from "../cookies.ts";
import type { AppContext } from "../env.ts";
import { isChoice, isUpdate } from "./choice.ts";

/** Filters that make sense in any organization. */
const filters = [
  ...["range", "from", "to", "window", "productSlug", "metric", "stack", "status", "sort"],
  ...["action", "plan", "planId", "limits", "compare", "compareFrom", "compareTo"],
];
/** Pages of an operator about one organization are not among them. */
const remembered: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ...["/portal/usage", "/portal/usage/records", "/portal/api-keys", "/portal/audit"]
    .map((path) => [path, new Set([...filters, "apiKey", "actorId"])] as const),
  ...["/operator/organizations", "/operator/usage", "/operator/audit"]
    .map((path) => [path, new Set(filters)] as const),
]);
const queryCharactersMax = 500;
const keptSeconds = 30 * 24 * 3600;
/** In an address, forgets the filters. */
const reset = "reset";

interface LastFilters {
  /** The page without filters, if it was asked for without any and shows the last ones. */
  readonly unfilteredHref: string | null;
  /** Remembers the filters of a page that was shown. */
  readonly remember: (response: Response) => void;
}

const none: LastFilters = { unfilteredHref: null, remember: () => {} };

/** Adds the last filters to a request for a list without any. */
export function lastFilters(c: AppContext, session: Session, { secure }: { secure: boolean }): LastFilters {
  const names = remembered.get(c.req.path);
  if (names === undefined || c.req.method !== "GET" || isUpdate(c)) return none;
  const url = new URL(c.req.url);
  const name = `last${url.pathname.replaceAll("/", "-")}`;
  // Another person or organization has other keys.
  const owner = `${session.user.id}.${session.organization?.organizationId ?? ""}.`;
  const [cookie] = cookieValues(c.get("headers")["cookie"], name);
  const known = cookie?.startsWith(owner) ? cookie.slice(owner.length) : "";
  if (url.search === "" && !isFromSamePage(c, url)) {
    const last = chosen(new URLSearchParams(known.slice(0, queryCharactersMax)), names);
    if (last === "") return none;
    c.req.raw = new Request(`${url}?${last}`, c.req.raw);
    return { ...none, unfilteredHref: `${url.pathname}?${reset}=1` };
  }
  const isAbout = url.search === "" || url.searchParams.has(reset) ||
    [...url.searchParams.keys()].some((one) => names.has(one));
  if (!isAbout || !isChoice(c)) return none;
  const query = chosen(url.searchParams, names);
  const value = query === "" || query.length > queryCharactersMax ? "" : owner + query;
  if (value === (cookie ?? "")) return none;
  const remember = (response: Response) => {
    if (response.status !== 200) return;
    const maxAge = value === "" ? 0 : keptSeconds;
    response.headers.append(
      "set-cookie",
      `${name}=${value}; Max-Age=${maxAge}; Path=${url.pathname}; HttpOnly;${
        secure ? " Secure;" : ""
      } SameSite=Lax`,
    );
  };
  return { ...none, remember };
}

/** Following a link from a list to itself without filters, such as “All”, means that. */
function isFromSamePage(c: AppContext, { host, pathname }: URL): boolean {
  const referrer = URL.parse(c.get("headers")["referer"] ?? "");
  return referrer !== null && referrer.host === host && referrer.pathname === pathname;
}

function chosen(query: URLSearchParams, names: ReadonlySet<string>): string {
  const given = [...query].filter(([name, value]) => names.has(name) && value !== "");
  // What a usage page shows anyway.
  const isDefault = given.length === 1 && given[0]?.join("=") === "range=month";
  return isDefault ? "" : String(new URLSearchParams(given));
}
