// The two frames of every page: signed out (a card in the middle) and signed in (a sidebar). Both send whole pages;
// htmx takes #main and #side out of them. No inline styles and no inline scripts: the policy forbids them.
import type { Child } from "hono/jsx";
import { type html, raw } from "hono/html";
import type { Session } from "../domain/sign_in/session.ts";
import { Brand } from "./components/icon.tsx";
import { type Place, Side } from "./components/side.tsx";
import { UnverifiedNotice } from "./account/unverified_notice.tsx";

export type { Place };

/** URL paths of what the pages load. */
export interface Assets {
  readonly css: string;
  readonly script: string;
  readonly htmx: string;
  /** Loaded by `script` where a form needs it. */
  readonly passkeys: string;
  readonly favicon: string;
  /** The fonts, at the very address that portal.css names (`/static/geist.woff2`): another would load twice. */
  readonly geist: string;
  readonly geistMono: string;
}

/** What every page for people who are not signed in needs. */
export interface GateFrame {
  readonly assets: Assets;
  /** Strangers may make an account. */
  readonly signUpOpen: boolean;
}

/** What every page for signed-in people needs. */
export interface PortalFrame {
  readonly assets: Assets;
  /** The time of the page, in milliseconds since 1970. */
  readonly now: number;
  readonly session: Session;
  /** Mails go out from here: where they do not, nobody is asked to confirm an address. */
  readonly sendsMail: boolean;
}

/** A whole page, ready for `c.html()`. */
export type Page = ReturnType<typeof html>;

/** htmx needs neither eval nor a style of its own; `open` keeps menus as they are. */
const htmxConfig = `{"includeIndicatorCSS":false,"morphIgnore":["data-htmx-powered","open"]}`;
const boost = "swap:outerHTML target:#main select:#main selectOOB:'#side'";
/** A refused form shows its message without a new entry in the history. */
const refusedForms = { "hx-status:409:inherited": "push:false", "hx-status:422:inherited": "push:false" };

/** A page for people who are not signed in: one card, one task. It leads on by itself to `goOnTo`, a whole address. */
export function GatePage(
  { title, frame, goOnTo, children }: { title: string; frame: GateFrame; goOnTo?: string; children: Child },
): Page {
  return document(
    <>
      <Head title={title} assets={frame.assets}>
        {goOnTo === undefined ? null : <meta http-equiv="refresh" content={`0; url=${goOnTo}`} />}
      </Head>
      <body>
        <SkipLink />
        <main id="main" class="gate" tabindex={-1}>
          <div>
            <Brand href="/sign-in" />
            {children}
          </div>
        </main>
      </body>
    </>,
  );
}

/** What a page of the portal is made of. */
export interface PortalPageProps {
  readonly title: string;
  readonly frame: PortalFrame;
  /** Where the page is in the sidebar; null for pages that are not in it. */
  readonly place: Place | null;
  readonly children: Child;
}

/** A page for signed-in people: the sidebar and the content. */
export function PortalPage({ title, frame, place, children }: PortalPageProps): Page {
  const { user } = frame.session;
  // The page of the account says the same in its place.
  const isAsked = frame.sendsMail && !user.emailVerified && place !== "account";
  return document(
    <>
      <Head title={title} assets={frame.assets}>
        <meta name="htmx-config" content={htmxConfig} />
        <script defer src={frame.assets.htmx}></script>
      </Head>
      <body
        hx-boost:inherited={boost}
        hx-sync:inherited="drop"
        hx-indicator:inherited="#progress"
        {...refusedForms}
      >
        <SkipLink />
        <div id="progress" aria-hidden="true"></div>
        <div id="trouble" class="trouble" role="alert"></div>
        <div id="announcer" class="unseen" role="status"></div>
        <div class="frame">
          <Side session={frame.session} place={place} />
          <main id="main" tabindex={-1}>
            {isAsked ? <UnverifiedNotice email={user.email} /> : null}
            {children}
          </main>
        </div>
      </body>
    </>,
  );
}

/** A page for everybody, with an index of its own at its side. */
export function IndexedPage(
  { title, assets, index, children }: { title: string; assets: Assets; index: Child; children: Child },
): Page {
  return document(
    <>
      <Head title={title} assets={assets} />
      <body>
        <SkipLink />
        <div class="frame">
          {index}
          <main id="main" tabindex={-1}>{children}</main>
        </div>
      </body>
    </>,
  );
}

function document(content: Child): Page {
  return (
    <>
      {raw("<!doctype html>")}
      <html lang="en">{content}</html>
    </>
  );
}

function Head({ title, assets, children }: { title: string; assets: Assets; children?: Child }) {
  return (
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <title>{`${title} · Gatehouse`}</title>
      <meta name="robots" content="noindex" />
      {/* Where the header says `no-referrer`, browsers would send forms with `Origin: null`, as if from another site. */}
      <meta name="referrer" content="same-origin" />
      <meta name="theme-color" content="#f7f6f2" media="(prefers-color-scheme: light)" />
      <meta name="theme-color" content="#121311" media="(prefers-color-scheme: dark)" />
      <link rel="icon" href={assets.favicon} type="image/svg+xml" />
      <link rel="preload" href={assets.geist} as="font" type="font/woff2" crossorigin="anonymous" />
      <link rel="stylesheet" href={assets.css} />
      {children ?? null}
      <script defer src={assets.script}></script>
    </head>
  );
}

function SkipLink() {
  return <a class="skip" href="#main">Skip to content</a>;
}
