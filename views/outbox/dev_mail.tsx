// The pages that show emails in development, where no mail server is set: a list, and one email as text and as HTML.
import { EmptyState } from "../components/empty_state.tsx";
import { RelativeTime } from "../components/relative_time.tsx";
import { type GateFrame, GatePage, type Page } from "../layout.tsx";

interface ListedMail {
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly sentAt: number;
}

export function devMailsPage(
  { frame, mails, now }: { frame: GateFrame; mails: readonly ListedMail[]; now: number },
): Page {
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

export function devMailPage({ frame, mail, home, now }: {
  frame: GateFrame;
  mail: ListedMail & { text: string };
  /** Addresses in the text that begin with this become links. */
  home: string;
  now: number;
}): Page {
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

function recipientAndTime({ to, sentAt }: ListedMail, now: number) {
  return (
    <>
      <bdi>{to}</bdi>, <RelativeTime at={new Date(sentAt).toISOString()} now={now} />
    </>
  );
}

function mailHref({ id }: ListedMail): string {
  return `/dev/mail/${encodeURIComponent(id)}`;
}
