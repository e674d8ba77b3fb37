// The page of what keeps an account its owner's: the password, further steps, and where one is signed in.
import { Badge } from "../components/badge.tsx";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { PasswordField, UsernameField } from "../components/field.tsx";
import { Notice } from "../components/notice.tsx";
import { type SessionRow, SessionTable } from "./session_table.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { countOf } from "../../domain/number_text.ts";
import { codesLeft, isFewCodes } from "./two_step.tsx";

export type { SessionRow };

/** What the page shows. */
export interface SecurityPageProps {
  readonly frame: PortalFrame;
  /** The one that asks is among them. */
  readonly sessions: readonly SessionRow[];
  readonly twoStep: { readonly isOn: boolean; readonly recoveryCodesLeft: number };
  readonly passkeyCount: number;
  /** What is wrong with the form for the password. */
  readonly error: string | null;
  readonly fieldErrors: Readonly<Record<string, string>>;
  /** What was just done, in one sentence. */
  readonly flash: string | null;
}

/** @returns The page of the account's security. */
export function securityPage(props: SecurityPageProps): Page {
  const { frame, sessions, error, fieldErrors, flash } = props;
  return (
    <PortalPage title="Security" frame={frame} place="security">
      <div class="head">
        <h1>Security</h1>
        <p class="muted">
          What keeps your account yours. If you see a place below that you do not recognise, change your
          password: that signs out everything but this.
        </p>
      </div>
      {flash === null ? null : <Notice tone="done" text={flash} />}
      <Card title="Password">
        <form class="parts" method="post" action="/portal/account/security/password" hx-disable="find button">
          {error === null ? null : <Notice tone="refused" text={error} />}
          <UsernameField email={frame.session.user.email} />
          <div class="row two">
            <PasswordField
              label="Current password"
              name="currentPassword"
              error={fieldErrors["currentPassword"]}
            />
            <PasswordField label="New password" name="newPassword" isNew error={fieldErrors["newPassword"]} />
            <SubmitButton tone="plain">Change password</SubmitButton>
          </div>
          <p class="muted small">
            You stay signed in here and are signed out everywhere else.{" "}
            <a href="/forgot-password">
              Forgot your password?
            </a>
          </p>
        </form>
      </Card>
      <div class="pair">
        <TwoStepCard {...props.twoStep} />
        <PasskeysCard count={props.passkeyCount} />
      </div>
      <Card
        title="Where you are signed in"
        aside={sessions.length < 2 ? <p class="muted small">Only here</p> : (
          <form
            method="post"
            action="/portal/account/security/sessions/end-others"
            hx-disable="find button"
          >
            <SubmitButton tone="quiet-destroy">Sign out everywhere else</SubmitButton>
          </form>
        )}
        flush
      >
        <SessionTable sessions={sessions} now={frame.now} />
      </Card>
    </PortalPage>
  );
}

function TwoStepCard({ isOn, recoveryCodesLeft: left }: SecurityPageProps["twoStep"]) {
  const isShort = isOn && isFewCodes(left);
  return (
    <Card title="Two-step sign-in" aside={<Badge tone={isOn ? "on" : "off"}>{isOn ? "On" : "Off"}</Badge>}>
      <p class="muted">
        After the password, a code from an app on your phone.
        {isShort ? ` Recovery codes: ${codesLeft(left)}. Make new ones before you need them.` : ""}
      </p>
      <ButtonLink href="/portal/account/two-step">
        {isOn ? "Manage two-step sign-in" : "Set up two-step sign-in"}
      </ButtonLink>
    </Card>
  );
}

function PasskeysCard({ count }: { count: number }) {
  return (
    <Card
      title="Passkeys"
      aside={
        <Badge tone={count === 0 ? "off" : "on"}>{count === 0 ? "None" : countOf(count, "passkey")}</Badge>
      }
    >
      <p class="muted">Sign in with your fingerprint, your face, or a key that you plug in.</p>
      <ButtonLink href="/portal/account/passkeys">
        {count === 0 ? "Set up passkeys" : "Manage passkeys"}
      </ButtonLink>
    </Card>
  );
}
