// The two page layouts: signed out (a card in the middle) and signed in (a sidebar). Both send whole pages, of which htmx
// swaps #main and #side. The content security policy forbids inline styles and scripts.
import type { Child } from "hono/jsx";
import { type html, raw } from "hono/html";
import { presentation } from "../domain/presentation.ts";
import type { Session } from "../domain/access/session.ts";
import { SubmitButton } from "./components/button.tsx";
import { EmbedBar, type Embedding } from "./components/embed_bar.tsx";
import { Form } from "./components/form.tsx";
import type { Assets } from "./assets.ts";
import { Brand } from "./components/brand.tsx";
import { Icon } from "./components/icon.tsx";
import { type Place, Side } from "./components/side.tsx";
import {
  OrganizationHead,
  type OrganizationHead as OrganizationHeadProps,
} from "./components/organization_head.tsx";
import { organizationHref } from "./components/links.ts";
import { OperatorSide } from "./components/operator_side.tsx";

export type { Assets, Place };

export interface GateFrame {
  readonly assets: Assets;
  readonly signUpOpen: boolean;
  /** Set in a product's app, which links nowhere else. */
  readonly isEmbedded?: boolean;
}

export interface PortalFrame {
  readonly assets: Assets;
  readonly now: number;
  readonly session: Session;
  /** Addresses of the organization's pages begin with it: `/portal`, or the console's page of the organization. */
  readonly base: string;
  /** The organization that an operator looks at, on pages that members see too. */
  readonly viewed: {
    readonly id: string;
    readonly name: string;
    /** On the tabs of the organization's page. */
    readonly head: OrganizationHeadProps | null;
  } | null;
  /**
   * True for an operator who views the organization's pages as its owners see them, and in an app whose customer may only read:
   * nothing on them acts, and `session` has no other organization.
   */
  readonly isReadOnly: boolean;
  /** If false, no one is asked to confirm an address. */
  readonly sendsMail: boolean;
  /** The operator console has its own sidebar. */
  readonly isConsole: boolean;
  /** In a product's app: `session` is that of its customer there. Null elsewhere. */
  readonly embed: Embedding | null;
}

export type Page = ReturnType<typeof html>;

/**
 * The policy forbids htmx's own style, and style attributes, which htmx would copy to new elements while they settle. Ignoring
 * `open` keeps menus open or closed across swaps.
 */
const htmxConfig =
  `{"includeIndicatorCSS":false,"defaultSettleDelay":0,"morphIgnore":["data-htmx-powered","open"]}`;
const boost = "swap:outerHTML target:#main select:#main selectOOB:'#side'";

/** A signed-out page: one card, one task. With `goOnTo`, a whole address, the browser continues there. */
export function GatePage(
  { title, frame, goOnTo, children }: {
    title: string;
    frame: GateFrame;
    goOnTo?: string | undefined;
    children: Child;
  },
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
            {!frame.isEmbedded && <Brand href="/sign-in" brand={frame.assets.brand} />}
            {children}
          </div>
        </main>
      </body>
    </>,
  );
}

export function PortalPage({ title, frame, place, children }: {
  title: string;
  frame: PortalFrame;
  place: Place | null;
  children: Child;
}): Page {
  const { session, isConsole, isReadOnly, viewed, now, embed } = frame;
  const { unfilteredHref, isListChanged } = presentation();
  // The account page says the same.
  const isReminded = frame.sendsMail && !isConsole && !isReadOnly && !session.user.emailVerified &&
    place !== "account";
  return document(
    <>
      <Head title={viewed === null ? title : `${title} · ${viewed.name}`} assets={frame.assets}>
        <meta name="htmx-config" content={htmxConfig} />
        <script defer src={frame.assets.htmx}></script>
      </Head>
      <body
        hx-boost:inherited={boost}
        hx-sync:inherited="drop"
        hx-indicator:inherited="#progress"
      >
        <SkipLink />
        <div id="progress" aria-hidden="true"></div>
        <div id="trouble" class="trouble" role="alert"></div>
        <div id="announcer" class="unseen" role="status"></div>
        <div {...boxOf(embed)}>
          {embed !== null
            ? <EmbedBar {...frame} embed={embed} name={session.organization?.name ?? ""} place={place} />
            : isConsole
            ? (
              <OperatorSide
                session={session}
                place={viewed === null ? place : "operator/organizations"}
                assets={frame.assets}
              />
            )
            : <Side {...frame} place={place} />}
          <main id="main" tabindex={-1}>
            {isReadOnly && embed === null && <CustomerViewBar session={session} />}
            {!isConsole && session.organization?.suspended && (
              <SuspendedNotice name={session.organization.name} />
            )}
            {viewed &&
              (viewed.head === null
                ? <ViewedNotice name={viewed.name} base={frame.base} />
                : <OrganizationHead {...viewed.head} now={now} />)}
            {unfilteredHref !== null && (
              <p class="last-filters muted small">
                Showing your last filters. <a href={unfilteredHref}>Reset filters</a>
              </p>
            )}
            {isListChanged && (
              <p class="last-filters muted small" role="status">
                This list has changed. Showing the first page.
              </p>
            )}
            {isReminded && <UnverifiedNotice email={session.user.email} />}
            {children}
          </main>
        </div>
      </body>
    </>,
  );
}

/** static/portal.js tells the origins how high the page is. */
function boxOf(embed: Embedding | null) {
  if (embed === null) return { class: "frame" };
  const { isClear, origins } = embed;
  return { "class": isClear ? "embedded clear" : "embedded", "data-origins": origins.join(" ") };
}

function ViewedNotice({ name, base }: { name: string; base: string }) {
  return (
    <div class="note plain">
      <div>
        <Icon name="building" />
        <p>
          You’re viewing{" "}
          <a href={base}>
            <bdi>{name}</bdi>
          </a>{" "}
          as an operator.
        </p>
      </div>
    </div>
  );
}

/** Stays in sight, so that no operator takes the page for their own. */
function CustomerViewBar({ session: { organization } }: { session: Session }) {
  if (organization === null) return null;
  return (
    <div class="note viewing">
      <Icon name="info" />
      <p>
        You’re viewing <bdi>{organization.name}</bdi> as an operator. Read only.
      </p>
      <a href={organizationHref(organization.organizationId)}>Back to the console</a>
    </div>
  );
}

/** Asks people to confirm their email address. It has no status role, so that it isn't read out on each page. */
function UnverifiedNotice({ email }: { email: string }) {
  return (
    <div class="note plain">
      <div>
        <Icon name="mail" />
        <p>
          Confirm your email address: open the link that we sent to <strong>{email}</strong>.
        </p>
      </div>
      <Form action="/portal/account/verification">
        <SubmitButton tone="plain">Resend email</SubmitButton>
      </Form>
    </div>
  );
}

/** Explains on each page why nothing works. It has no status role either. */
function SuspendedNotice({ name }: { name: string }) {
  return (
    <div class="note error">
      <Icon name="alert" />
      <p>
        <strong>
          <bdi>{name}</bdi> is suspended.
        </strong>{" "}
        Its API keys don't work, and nothing can be changed. Contact the people who run this service.
      </p>
    </div>
  );
}

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
  const { theme } = presentation();
  return (
    <>
      {raw("<!doctype html>")}
      <html lang="en" {...(theme === "system" ? {} : { "data-theme": theme })}>{content}</html>
    </>
  );
}

function Head({ title, assets, children }: { title: string; assets: Assets; children?: Child }) {
  return (
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <title>{`${title} · ${assets.brand.name}`}</title>
      <meta name="robots" content="noindex" />
      {/* With `no-referrer` in the header, browsers would send forms with `Origin: null`, as if from another site. */}
      <meta name="referrer" content="same-origin" />
      <ThemeColors />
      <Favicon assets={assets} />
      <link rel="preload" href={assets.geist} as="font" type="font/woff2" crossorigin="anonymous" />
      <link rel="stylesheet" href={assets.css} />
      {children ?? null}
      <script defer src={assets.script}></script>
    </head>
  );
}

/** A wide logo contains text, which is unreadable in a browser tab. */
function Favicon({ assets: { brand: { logo }, favicon } }: { assets: Assets }) {
  return logo === null || logo.isWide
    ? <link rel="icon" href={favicon} type="image/svg+xml" />
    : <link rel="icon" href={logo.path} type={logo.type} />;
}

const themeColors = { light: "#f7f6f2", dark: "#121311" } as const;

/** Colors the browser's own surfaces, and its controls before the style sheet is loaded. */
function ThemeColors() {
  const { theme } = presentation();
  if (theme !== "system") {
    return (
      <>
        <meta name="color-scheme" content={theme} />
        <meta name="theme-color" content={themeColors[theme]} />
      </>
    );
  }
  return (
    <>
      <meta name="theme-color" content={themeColors.light} media="(prefers-color-scheme: light)" />
      <meta name="theme-color" content={themeColors.dark} media="(prefers-color-scheme: dark)" />
    </>
  );
}

function SkipLink() {
  return <a class="skip" href="#main">Skip to content</a>;
}
