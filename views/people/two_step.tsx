// The pages of a person's own two-step sign-in: its state, setting it up, the recovery codes, and turning it off. The emailed link
// alone turns nothing off: it requires a session and a click, because email scanners open links too.
import { raw } from "hono/html";
import { countOf } from "../../domain/number_text.ts";
import type { OfferedProvider } from "../../domain/people/identity_provider.ts";
import { turnOffLinkPath } from "../../domain/people/return_to.ts";
import { Badge } from "../components/badge.tsx";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { CopyButton, Secret } from "../components/code.tsx";
import { ConfirmPage, type ConfirmPageProps } from "../components/confirm_page.tsx";
import { PasswordField, TextField, UsernameField } from "../components/field.tsx";
import { Form, type ShownForm, typed } from "../components/form.tsx";
import { GateCard, GateHint } from "../components/gate_card.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { DayTime } from "../components/relative_time.tsx";
import { type GateFrame, type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { ProviderForm } from "./identities.tsx";
import { qrCodeSvg } from "./qr_code.ts";

export const twoStepPath = "/portal/account/two-step";
const twoStepLink = { href: twoStepPath, label: "Two-step sign-in" };
export const securityLink = { href: "/portal/account/security", label: "Security" };
/** The length of a field for codes; recovery codes have hyphens. */
export const codeCharactersMax = 40;

/** True if the person should create new recovery codes. */
export function isFewCodes(left: number): boolean {
  return left <= 3;
}

/** Returns text such as `1 code left`. */
export function codesLeft(left: number): string {
  return `${countOf(left, "code")} left`;
}

export function twoStepPage(props: {
  frame: PortalFrame;
  /** ISO 8601; null if it is off. */
  confirmedAt: string | null;
  /** ISO 8601; since when codes are rejected, or null. */
  lockedAt: string | null;
  recoveryCodesLeft: number;
  /** Shown only once. */
  recoveryCodes: readonly string[] | null;
  flash: string | null;
  error: string | null;
}): Page {
  const { frame, flash, error, recoveryCodes, recoveryCodesLeft: left } = props;
  return (
    <PortalPage title="Two-step sign-in" frame={frame} place="security">
      <PageHead
        back={securityLink}
        title="Two-step sign-in"
        text="After your password or provider, enter a code from an app on your phone. Your password alone is not enough to sign in."
      />
      <Notice tone="done" text={flash} />
      <Notice tone="error" text={error} />
      {recoveryCodes && <RecoveryCodesNotice codes={recoveryCodes} email={frame.session.user.email} />}
      {props.confirmedAt === null ? <Off /> : (
        <>
          <On confirmedAt={props.confirmedAt} lockedAt={props.lockedAt} now={frame.now} />
          <Card
            title="Recovery codes"
            aside={<Badge tone={isFewCodes(left) ? "soon" : "on"}>{codesLeft(left)}</Badge>}
          >
            <p class="muted">
              {isFewCodes(left) ? "You have few codes left: create new ones soon. " : ""}
              Use them if you lose your phone. Each works once, and new codes replace the old ones.
            </p>
            <div class="act-row">
              <ButtonLink href={`${twoStepPath}/recovery-codes`}>Create new codes</ButtonLink>
            </div>
          </Card>
        </>
      )}
    </PortalPage>
  );
}

function Off() {
  return (
    <Card title="Authenticator app" aside={<Badge tone="off">Off</Badge>}>
      <p class="muted">
        You need an app such as Aegis, Google Authenticator, 1Password, or the one in your phone's settings.
      </p>
      <Form class="act-row" action={`${twoStepPath}/begin`}>
        <SubmitButton>Set up two-step sign-in</SubmitButton>
      </Form>
    </Card>
  );
}

function On({ confirmedAt, lockedAt, now }: { confirmedAt: string; lockedAt: string | null; now: number }) {
  return (
    <Card
      title="Authenticator app"
      aside={lockedAt === null ? <Badge tone="on">On</Badge> : <Badge tone="off">Locked</Badge>}
    >
      {lockedAt && (
        <Notice
          tone="error"
          text="Someone who knows your password entered too many wrong codes. The app's codes are accepted again once you change your password."
        />
      )}
      <p class="muted">
        On (since <DayTime at={confirmedAt} now={now} />). You can use a{" "}
        <a href="/portal/account/passkeys">passkey</a> instead of a code.
      </p>
      <div class="act-row">
        <ButtonLink tone="plain-destroy" href={`${twoStepPath}/turn-off`}>Turn off</ButtonLink>
      </div>
    </Card>
  );
}

/** New recovery codes, to copy, or to save as a file without scripts. Takes the focus, so that it is read out. */
function RecoveryCodesNotice({ codes, email }: { codes: readonly string[]; email: string }) {
  const text = `Recovery codes of ${email}. Each works once.\n\n${codes.join("\n")}\n`;
  return (
    <section class="notice" aria-labelledby="codes-title" tabindex={-1} autofocus>
      <div>
        <h2 id="codes-title">Your recovery codes</h2>
        <p class="small">
          <strong>Save them now. They are shown only once.</strong>{" "}
          Use one instead of a code when you don't have your phone.
        </p>
      </div>
      <ul class="codes pick" id="recovery-codes">
        {codes.map((code) => (
          <li>
            <code>{`${code}\n`}</code>
          </li>
        ))}
      </ul>
      <div class="act-row">
        <CopyButton target="recovery-codes" tone="primary">Copy codes</CopyButton>
        <a
          class="button plain"
          href={`data:text/plain;charset=utf-8,${encodeURIComponent(text)}`}
          download="gatehouse-recovery-codes.txt"
          hx-boost="false"
        >
          Save as a file
        </a>
      </div>
    </section>
  );
}

export function twoStepSetUpPage({ frame, secret, otpauthUrl, form }: {
  frame: PortalFrame;
  /** Base32. */
  secret: string;
  otpauthUrl: string;
  form: ShownForm;
}): Page {
  return (
    <PortalPage title="Set up two-step sign-in" frame={frame} place="security">
      <PageHead
        back={twoStepLink}
        title="Set up two-step sign-in"
        text="Two-step sign-in turns on when you confirm the first code."
      />
      <Notice tone="error" text={form.message} />
      <Card title="1. Scan this with your app">
        <div class="qr">{raw(qrCodeSvg(otpauthUrl))}</div>
        <p class="muted small">
          Is the app on this device? <a href={otpauthUrl} hx-boost="false">Open it</a>, or enter this key:
        </p>
        <Secret id="totp-secret" value={secret.replaceAll(/(.{4})(?!$)/g, "$1 ")} copy="Copy key" />
      </Card>
      <Card title="2. Enter the code that your app shows">
        <Form class="new-key" action={`${twoStepPath}/set-up`}>
          <TextField
            label="Code"
            name="code"
            {...typed(form, "code")}
            hint="Six digits. They change every 30 seconds."
            autocomplete="one-time-code"
            inputmode="numeric"
            required
            maxlength={20}
          />
          <div class="act-row">
            <SubmitButton>Turn on</SubmitButton>
            <ButtonLink href={twoStepPath}>Cancel</ButtonLink>
          </div>
        </Form>
      </Card>
    </PortalPage>
  );
}

interface TwoStepConfirmationProps {
  readonly frame: PortalFrame;
  readonly recoveryCodesLeft: number;
}

export function turnOffTwoStepPage(props: TwoStepConfirmationProps): Page {
  return confirmation(props, {
    title: "Turn off two-step sign-in",
    text: "Signing in no longer requires a code. Your recovery codes stop working; passkeys stay.",
    action: `${twoStepPath}/turn-off`,
    submit: "Turn off",
  });
}

export function newRecoveryCodesPage(props: TwoStepConfirmationProps): Page {
  return confirmation(props, {
    title: "Create new recovery codes",
    text: "Your current codes stop working. The new ones are shown only once.",
    action: `${twoStepPath}/recovery-codes`,
    submit: "Create new codes",
    tone: "primary",
  });
}

function confirmation(
  { frame, recoveryCodesLeft }: TwoStepConfirmationProps,
  page: Pick<ConfirmPageProps, "title" | "text" | "action" | "submit" | "tone">,
): Page {
  const facts = [
    { label: "Account", value: <bdi>{frame.session.user.email}</bdi> },
    { label: "Recovery codes left", value: String(recoveryCodesLeft) },
  ];
  return (
    <ConfirmPage
      {...page}
      frame={frame}
      place="security"
      heading={`${page.title}?`}
      facts={facts}
      back={twoStepLink}
    />
  );
}

/** `providers`: those that an account without a password has connected. */
export function turnOffLinkPage({ frame, hasPassword, providers, form }: {
  frame: PortalFrame;
  hasPassword: boolean;
  providers: readonly OfferedProvider[];
  form: ShownForm;
}): Page {
  const { email } = frame.session.user;
  if (!hasPassword) return <TurnOffLinkByProvider frame={frame} providers={providers} />;
  return (
    <ConfirmPage
      frame={frame}
      place="security"
      title="Turn off two-step sign-in by email"
      heading="Lost your device and your recovery codes?"
      text="Enter your password, and we'll email you a link that turns off two-step sign-in. It works for an hour, in a browser where you are signed in."
      facts={[{ label: "The link goes to", value: <bdi>{email}</bdi> }]}
      action={turnOffLinkPath}
      submit="Send link"
      tone="primary"
      back={twoStepLink}
      error={form.message}
    >
      <UsernameField email={email} />
      <PasswordField label="Password" name="password" error={form.fields["password"]} autofocus />
    </ConfirmPage>
  );
}

function TurnOffLinkByProvider(
  { frame, providers }: { frame: PortalFrame; providers: readonly OfferedProvider[] },
) {
  return (
    <PortalPage title="Turn off two-step sign-in by email" frame={frame} place="security">
      <div class="ask">
        <PageHead
          back={twoStepLink}
          title="Lost your device and your recovery codes?"
          text={providers.length === 0
            ? "Your account has no password or provider to confirm that it's you. Contact the people who run this service."
            : "Sign in with your provider again, and we'll email you a link that turns off two-step sign-in. It works for an hour, in a browser where you are signed in."}
        />
        {providers.map((provider) => (
          <ProviderForm
            action="/portal/confirm-password/provider"
            provider={provider}
            returnTo={turnOffLinkPath}
            verb="Confirm with"
          />
        ))}
      </div>
    </PortalPage>
  );
}

export type TurnOffByLinkState =
  | { readonly state: "ready"; readonly token: string; readonly email: string }
  /** No one, or someone else, is signed in. */
  | { readonly state: "other" }
  | { readonly state: "dead" };

export function turnOffByLinkPage({ frame, ...link }: { frame: GateFrame } & TurnOffByLinkState): Page {
  if (link.state === "ready") {
    return (
      <GateCard
        frame={frame}
        title="Turn off two-step sign-in?"
        text={
          <>
            Signing in to <strong>{link.email}</strong>{" "}
            will no longer require a code. Your recovery codes stop working; passkeys stay.
          </>
        }
        action="/turn-off-two-step"
        hidden={{ token: link.token }}
      >
        <SubmitButton tone="destroy">Turn off</SubmitButton>
        <GateHint text="Not now?" href={twoStepPath} label="Back to two-step sign-in" />
      </GateCard>
    );
  }
  return link.state === "dead"
    ? (
      <GateCard
        frame={frame}
        title="This link no longer works"
        text="It was used, a newer one replaced it, or it is more than an hour old."
      >
        <ButtonLink href={turnOffLinkPath}>Get a new link</ButtonLink>
      </GateCard>
    )
    : (
      <GateCard
        frame={frame}
        title="Open this link where you are signed in"
        text="The link works only in a browser that is signed in to the account it was sent to."
      >
        <ButtonLink href="/sign-in">Go to sign-in</ButtonLink>
      </GateCard>
    );
}
