// The pages of the list of keys with sample data.
import { apiKeysPage, type ApiKeysPageProps } from "../../views/api_keys/api_keys.tsx";
import { unusedKeysPage } from "../../views/api_keys/unused_keys.tsx";
import type { Page, PortalFrame } from "../../views/layout.tsx";

/** @returns The pages by name. `keys`: of the page with everything. */
export function keyListPages(
  text: string,
  { frame, keys, suspended }: { frame: PortalFrame; keys: ApiKeysPageProps; suspended: PortalFrame },
): Record<string, Page> {
  return {
    "API keys": apiKeysPage(keys),
    "API keys, suspended": apiKeysPage({ ...keys, frame: suspended }),
    "API keys, none": apiKeysPage({ ...keys, lines: [], list: null, flash: null }),
    "API keys of a member": apiKeysPage({
      ...keys,
      frame: asMember(frame),
      list: keys.list && { ...keys.list, search: "" },
    }),
    "API keys, none found": apiKeysPage({ ...keys, lines: [] }),
    "API keys, newest only": apiKeysPage({ ...keys, list: null }),
    "API keys, inactive": apiKeysPage({
      ...keys,
      lines: keys.lines.map((line) => ({ ...line, status: "revoked", revokedAt: line.createdAt })),
      list: keys.list && { ...keys.list, state: "inactive", search: "" },
    }),
    "unused keys": unusedKeysPage({
      frame,
      lines: keys.lines,
      count: 4,
      chosen: new Set(["key_1"]),
      fields: { keys: text },
      message: null,
    }),
  };
}

/** @returns The frame for a member who sees only their own keys. */
export function asMember(frame: PortalFrame): PortalFrame {
  const { session } = frame;
  const organization = session.organization && { ...session.organization, role: "MEMBER" as const };
  return { ...frame, session: { ...session, organization } };
}

/** @returns A page of the list with everything, whose names and search are `text`. */
export function keyList(text: string): Pick<ApiKeysPageProps, "lines" | "list"> {
  const key = {
    name: text,
    keyPrefix: "service_live_7Kq2mXfB…",
    createdAt: "2026-08-23T14:05:11.000Z",
    createdBy: { id: "usr_2", name: text },
    createdByOperator: false,
    permissions: ["maps:render", "usage:read", "usage:write"],
    budget: [],
    lastUsedAt: "2026-11-21T14:03:11.000Z",
    expiresAt: null,
    revokedAt: null,
    status: "active",
    usage: {
      metric: { slug: "requests", name: text, unit: null },
      micros: 3_000_000n,
      records: 2,
      values: [1, 2],
    },
    oldKeyEndsAt: null,
  } as const;
  const expiring = { expiresAt: "2026-11-27T20:00:00.000Z" };
  return {
    lines: [
      { ...key, id: "key_1", oldKeyEndsAt: "2026-11-22T14:05:11.000Z" },
      { ...key, id: `key_2/${text}`, ...expiring, usage: null },
      { ...key, id: "key_3", createdBy: null, lastUsedAt: null, usage: "unavailable" },
    ],
    list: {
      href: "/portal/api-keys",
      state: "active",
      search: text,
      order: "usage",
      isSorted: true,
      counts: { active: 120, expiring: 1, inactive: 2, isCut: true },
      unused: 1,
      isEmpty: false,
      page: 2,
      pages: 3,
      limit: { active: 121, max: 121 },
    },
  };
}
