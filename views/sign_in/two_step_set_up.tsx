// The page on which an authenticator app is set up: the QR code, the same as text, and the first code.
import { raw } from "hono/html";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { Secret } from "../components/code.tsx";
import { TextField } from "../components/field.tsx";
import { Icon } from "../components/icon.tsx";
import { Notice } from "../components/notice.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { qrCodeSvg } from "./qr_code.ts";
import { twoStepPath } from "./two_step.tsx";

/** What the page shows. */
export interface TwoStepSetUpPageProps {
  readonly frame: PortalFrame;
  /** Base32. */
  readonly secret: string;
  readonly otpauthUrl: string;
  /** The code as typed. */
  readonly value: string;
  readonly fieldErrors: Readonly<Record<string, string>>;
  readonly error: string | null;
}

/** @returns The page that sets an authenticator app up. */
export function twoStepSetUpPage(props: TwoStepSetUpPageProps): Page {
  const { frame, error } = props;
  return (
    <PortalPage title="Set up two-step sign-in" frame={frame} place="security">
      <div class="head">
        <a class="up-link" href={twoStepPath}>
          <Icon name="back" />
          Two-step sign-in
        </a>
        <h1>Set up two-step sign-in</h1>
        <p class="muted">Nothing changes before the first code is confirmed.</p>
      </div>
      {error === null ? null : <Notice tone="refused" text={error} />}
      <Card title="1. Scan this with the app">
        <div class="qr">{raw(qrCodeSvg(props.otpauthUrl))}</div>
        <p class="muted small">
          On this phone already?{" "}
          <a href={props.otpauthUrl} hx-boost="false">Open it in the app</a>, or type this key:
        </p>
        <Secret id="totp-secret" value={props.secret.replaceAll(/(.{4})(?!$)/g, "$1 ")} copy="Copy key" />
      </Card>
      <Card title="2. Type the code that the app shows">
        <form class="new-key" method="post" action={`${twoStepPath}/set-up`} hx-disable="find button">
          <TextField
            label="Code"
            name="code"
            value={props.value}
            hint="Six digits. They change every 30 seconds."
            error={props.fieldErrors["code"]}
            autocomplete="one-time-code"
            inputmode="numeric"
            required
            maxlength={20}
          />
          <div class="act-row">
            <SubmitButton>Turn on</SubmitButton>
            <ButtonLink href={twoStepPath}>Cancel</ButtonLink>
          </div>
        </form>
      </Card>
    </PortalPage>
  );
}
