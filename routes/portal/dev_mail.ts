// Mails in development: only where no mail server is set, and only for this machine. To everybody else there is nothing
// here: mails have links that sign people in.
import { notFoundError } from "../../domain/errors.ts";
import { isLoopbackHost } from "../../domain/loopback.ts";
import type { DevelopmentMail } from "../../services/mail/mail.ts";
import { devMailPage, devMailsPage, type ListedMail } from "../../views/mail/dev_mail.tsx";
import type { Assets } from "../../views/layout.tsx";
import { isLocalRequest, isLoopback } from "../client_address.ts";
import type { App, AppContext, AppParts } from "../env.ts";
import { gateFrame, sendPage } from "./page.ts";

/** The page's own policy, and that of the mail in its frame: that one has styles of its own, and no scripts. */
const pagePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
  "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const mailPolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; " +
  "frame-ancestors 'self'; sandbox allow-popups";

/** Mounts `/dev/mail` in development, else nothing. */
export function devMailRoutes(app: App, parts: AppParts, assets: Assets): void {
  const { config, services } = parts;
  const { mail } = services;
  // Where others reach the service a proxy may stand before it that tells nothing of them.
  if (mail.mode !== "development" || !isLoopbackHost(config.baseUrl.hostname)) return;
  const frame = gateFrame(parts, assets);

  function allow(c: AppContext): void {
    if (!isThisMachine(c, config.baseUrl.hostname)) throw notFoundError();
  }

  function find(c: AppContext): DevelopmentMail {
    allow(c);
    const found = mail.developmentMails().findLast(({ id }) => id === c.req.param("id"));
    if (found === undefined) throw notFoundError();
    return found;
  }

  app.get("/dev/mail", (c) => {
    allow(c);
    const mails = mail.developmentMails().map(listed).reverse();
    return sendPage(c, devMailsPage({ frame, mails, now: services.clock() }));
  });

  app.get("/dev/mail/:id", (c) => {
    const found = find(c);
    c.set("responseHeaders", [["content-security-policy", pagePolicy]]);
    const shown = { ...listed(found), text: found.text };
    const home = config.baseUrl.origin;
    return sendPage(c, devMailPage({ frame, mail: shown, home, now: services.clock() }));
  });

  app.get("/dev/mail/:id/html", (c) => {
    const { html } = find(c);
    c.set("responseHeaders", [["content-security-policy", mailPolicy], ["referrer-policy", "no-referrer"]]);
    return c.html(html);
  });
}

/** The host name counts too: an attacker's page can resolve its own name to this machine (DNS rebinding). */
function isThisMachine(c: AppContext, ownName: string): boolean {
  const { hostname } = new URL(c.req.url);
  return isLocalRequest(c) && (["localhost", "[::1]", ownName].includes(hostname) || isLoopback(hostname));
}

function listed({ id, to, subject, sentAt }: DevelopmentMail): ListedMail {
  return { id, to, subject, sentAt: new Date(sentAt).toISOString() };
}
