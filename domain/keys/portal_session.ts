// Portal sessions: a product shows its customers some pages of the portal in its own app, and says who they are.
import type { Permission } from "../access/permissions.ts";

/** The pages that a portal session can have. */
export const portalPages = ["keys", "usage", "limits", "webhooks"] as const;
export type PortalPage = (typeof portalPages)[number];

/** The path of sessions' pages. Each session's id follows, so that a browser can have several sessions. */
export const embedHref = "/embed";
/** Opens a session. Below no session. */
export const embedEnterHref = `${embedHref}/enter`;

/** True for the pages of portal sessions, the only ones that can be in a frame, also for errors below their path. */
export function isEmbedPath(path: string): boolean {
  return path.startsWith(`${embedHref}/`);
}

/** The first path of each page; others begin with it. */
export const portalPagePaths: Readonly<Record<PortalPage, string>> = {
  keys: "/api-keys",
  usage: "/usage",
  limits: "/limits",
  webhooks: "/webhooks",
};

/** Returns the page that a path below the organization's pages belongs to; null for a path that no portal session has. */
export function portalPageOf(path: string): PortalPage | null {
  return portalPages.find((page) => `${path}/`.startsWith(`${portalPagePaths[page]}/`)) ?? null;
}

/** All pages read usage: that of keys shows what each used. */
const permissionsOfPages: Readonly<Record<PortalPage, readonly Permission[]>> = {
  keys: ["usage.read", "apiKeys.read", "apiKeys.createOwn", "apiKeys.manageAll"],
  usage: ["usage.read"],
  limits: ["usage.read"],
  webhooks: ["webhooks.read", "webhooks.manage"],
};

/** Returns the permissions for these pages. A read-only session keeps the permissions to read. */
export function portalPermissions(
  { pages, isReadOnly }: { pages: readonly PortalPage[]; isReadOnly: boolean },
): ReadonlySet<Permission> {
  const all = pages.flatMap((page) => permissionsOfPages[page]);
  return new Set(isReadOnly ? all.filter((permission) => permission.endsWith(".read")) : all);
}

/** A new session, as the product's server gets it. */
export interface CreatedPortalSession {
  readonly id: string;
  /** Opens the session. Works once. */
  readonly url: string;
  readonly expiresAt: string;
}

/** The look of pages in a frame, as the address that opened the session says. */
export interface EmbedLook {
  readonly theme: "light" | "dark" | "system";
  /** True if the page around the frame is the ground of its pages. */
  readonly isClear: boolean;
}

const themes = ["light", "dark"] as const;

/** Reads a look, such as `dark.transparent`. Other words are ignored. */
export function parseEmbedLook(text: string): EmbedLook {
  const words = text.split(/[ .]/);
  return {
    theme: themes.find((theme) => words.includes(theme)) ?? "system",
    isClear: words.includes("transparent"),
  };
}

export function embedLookText({ theme, isClear }: EmbedLook): string {
  return `${theme}${isClear ? ".transparent" : ""}`;
}

/** A session whose cookie came with a request. */
export interface PortalSession {
  readonly id: string;
  readonly organizationId: string;
  readonly organizationName: string;
  /** The organization's time zone, an IANA name. */
  readonly timezone: string;
  readonly isSuspended: boolean;
  readonly pages: readonly PortalPage[];
  readonly isReadOnly: boolean;
  /** Null if the product didn't say who it is. */
  readonly userName: string | null;
  /** The name of the operator token that created it. */
  readonly tokenName: string;
  readonly returnUrl: string | null;
}
