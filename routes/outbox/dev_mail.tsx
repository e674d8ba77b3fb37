// Emails in development, where no mail server is set. Only this machine can see them, because their links sign people in.
import { notFoundError } from "../../domain/errors.ts";
import { isLoopbackHost } from "../../domain/loopback.ts";
import type { DevelopmentMail } from "../../services/outbox/mod.ts";
import { EmptyState } from "../../views/components/empty_state.tsx";
import { RelativeTime } from "../../views/components/relative_time.tsx";
import { type GateFrame, GatePage } from "../../views/layout.tsx";
import { isLocalRequest, isLoopback } from "../client_address.ts";
import type { App, AppContext } from "../env.ts";
import { gateFrame, type PortalParts, sendPage } from "../portal/page.ts";

const pagePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
  "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** For the email in the page's frame: it has inline styles, and no scripts. */
const mailPolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; " +
  "frame-ancestors 'self'; sandbox allow-popups";

/** Mounts `/dev/mail` in development only. */
export function devMailRoutes(app: App, parts: PortalParts): void {
  const { config: { baseUrl }, services: { mail, clock } } = parts;
  // Under any other name there may be a proxy that hides where requests come from.
  if (mail.mode !== "development" || !isLoopbackHost(baseUrl.hostname)) return;
  const frame = gateFrame(parts);

  function findMails(c: AppContext): Promise<readonly DevelopmentMail[]> {
    if (!isThisMachine(c, baseUrl.hostname)) throw notFoundError();
    return mail.developmentMails();
  }

  async function findMail(c: AppContext): Promise<DevelopmentMail> {
    const found = (await findMails(c)).findLast(({ id }) => id === c.req.param("id"));
    if (found === undefined) throw notFoundError();
    return found;
  }

  app.get(
    "/dev/mail",
    async (c) => sendPage(c, devMailsPage({ frame, mails: (await findMails(c)).toReversed(), now: clock() })),
  );

  app.get("/dev/mail/:id", async (c) => {
    const found = await findMail(c);
    c.set("responseHeaders", [["content-security-policy", pagePolicy]]);
    return sendPage(c, devMailPage({ frame, mail: found, home: baseUrl.origin, now: clock() }));
  });

  app.get("/dev/mail/:id/html", async (c) => {
    const { html } = await findMail(c);
    c.set("responseHeaders", [["content-security-policy", mailPolicy], ["referrer-policy", "no-referrer"]]);
    return c.html(html);
  });
}

/** The host name counts too: an attacker's page can resolve its own name to this machine (DNS rebinding). */
function isThisMachine(c: AppContext, ownName: string): boolean {
  const { hostname } = new URL(c.req.url);
  return isLocalRequest(c) && (["localhost", "[::1]", ownName].includes(hostname) || isLoopback(hostname));
}

function devMailsPage(
  { frame, mails, now }: { frame: GateFrame; mails: readonly DevelopmentMail[]; now: number },
) {
  return (
    <GatePage title="Emails" frame={frame}>
      <div class="card mails">
        <div>
          <h1>Emails</h1>
          <p class="muted small">
            SMTP_URL is not set, so these emails are not sent. They are kept until the program ends and
            visible on this machine only.
          </p>
        </div>
        {mails.length === 0
          ? <EmptyState title="No emails yet" text="Sign up or reset a password to see an email here." />
          : (
            <ul>
              {mails.map((mail) => (
                <li>
                  <a href={mailHref(mail)}>{mail.subject}</a>
                  <span class="muted small">{recipientAndTime(mail, now)}</span>
                </li>
              ))}
            </ul>
          )}
      </div>
    </GatePage>
  );
}

function devMailPage({ frame, mail, home, now }: {
  frame: GateFrame;
  mail: DevelopmentMail;
  /** Addresses in the text that begin with this become links. */
  home: string;
  now: number;
}) {
  const isOurs = (part: string) => part === home || part.startsWith(`${home}/`);
  return (
    <GatePage title={mail.subject} frame={frame}>
      <article class="card mails">
        <div>
          <h1>{mail.subject}</h1>
          <p class="muted small">To {recipientAndTime(mail, now)}</p>
        </div>
        <p class="mail-text">
          {mail.text.split(/(https?:\/\/\S+)/).map((part) => isOurs(part) ? link(part) : part)}
        </p>
        <iframe class="mail-html" title="As HTML" src={`${mailHref(mail)}/html`} sandbox="allow-popups">
        </iframe>
        <p class="small">
          <a href="/dev/mail">All emails</a>
        </p>
      </article>
    </GatePage>
  );
}

function link(href: string) {
  return <a href={href}>{href}</a>;
}

function recipientAndTime({ to, sentAt }: DevelopmentMail, now: number) {
  return (
    <>
      <bdi>{to}</bdi>, <RelativeTime at={new Date(sentAt).toISOString()} now={now} />
    </>
  );
}

function mailHref({ id }: DevelopmentMail): string {
  return `/dev/mail/${encodeURIComponent(id)}`;
}
