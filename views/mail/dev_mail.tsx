// The pages that show mails in development, where no mail server is set: a list, and one mail as text and as HTML.
import { EmptyState } from "../components/empty_state.tsx";
import { RelativeTime } from "../components/relative_time.tsx";
import { type GateFrame, GatePage, type Page } from "../layout.tsx";

/** A mail in the list. */
export interface ListedMail {
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  /** ISO 8601. */
  readonly sentAt: string;
}

/** @returns The list, in the order given. `now` is in milliseconds since 1970. */
export function devMailsPage(
  { frame, mails, now }: { frame: GateFrame; mails: readonly ListedMail[]; now: number },
): Page {
  return (
    <GatePage title="Mails" frame={frame}>
      <div class="card mails">
        <div>
          <h1>Mails</h1>
          <p class="muted small">
            SMTP_URL is not set, so nobody gets these. They are kept until the program ends, and shown on this
            machine only.
          </p>
        </div>
        {mails.length === 0
          ? <EmptyState title="No mails yet" text="Sign up or reset a password: the mail shows here." />
          : <ul>{mails.map((mail) => line(mail, now))}</ul>}
      </div>
    </GatePage>
  );
}

function line(mail: ListedMail, now: number) {
  return (
    <li>
      <a href={mailHref(mail.id)}>{mail.subject}</a>
      <span class="muted small">
        <bdi>{mail.to}</bdi>, <RelativeTime at={mail.sentAt} now={now} />
      </span>
    </li>
  );
}

/** What the page of one mail shows. */
export interface DevMailPageProps {
  readonly frame: GateFrame;
  readonly mail: ListedMail & { readonly text: string };
  /** Addresses in the text that begin with this become links. */
  readonly home: string;
  readonly now: number;
}

/** @returns The page of one mail. */
export function devMailPage({ frame, mail, home, now }: DevMailPageProps): Page {
  return (
    <GatePage title={mail.subject} frame={frame}>
      <article class="card mails">
        <div>
          <h1>{mail.subject}</h1>
          <p class="muted small">
            To <bdi>{mail.to}</bdi>, <RelativeTime at={mail.sentAt} now={now} />
          </p>
        </div>
        <p class="mail-text">{withLinks(mail.text, home)}</p>
        <iframe
          class="mail-html"
          title="The same as HTML"
          src={`${mailHref(mail.id)}/html`}
          sandbox="allow-popups"
        >
        </iframe>
        <p class="small">
          <a href="/dev/mail">All mails</a>
        </p>
      </article>
    </GatePage>
  );
}

function mailHref(id: string): string {
  return `/dev/mail/${encodeURIComponent(id)}`;
}

function withLinks(text: string, home: string) {
  const isOurs = (part: string) => part === home || part.startsWith(`${home}/`);
  return text.split(/(https?:\/\/\S+)/).map((part) => isOurs(part) ? link(part) : part);
}

function link(href: string) {
  return <a href={href}>{href}</a>;
}
