// The page of one's own two-step sign-in: how it stands, the recovery codes once, and what can be done.
import { Badge } from "../components/badge.tsx";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { Icon } from "../components/icon.tsx";
import { Notice } from "../components/notice.tsx";
import { RecoveryCodesNotice } from "./recovery_codes_notice.tsx";
import { DayTime } from "../components/relative_time.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";

/** What the page shows. */
export interface TwoStepPageProps {
  readonly frame: PortalFrame;
  /** ISO 8601; null while it is off. */
  readonly confirmedAt: string | null;
  /** ISO 8601: since when codes are not taken; null while they are. */
  readonly lockedAt: string | null;
  readonly recoveryCodesLeft: number;
  /** Codes that were just made: the only time that they are shown. */
  readonly recoveryCodes: readonly string[] | null;
  /** What was just done. */
  readonly flash: string | null;
  readonly error: string | null;
}

/** Where the pages of two-step sign-in are. */
export const twoStepPath = "/portal/account/two-step";
/** Where these pages come from. */
export const securityBack = { href: "/portal/account/security", label: "Security" } as const;

/** @returns Whether so few recovery codes are left that it is worth a word. */
export function isFewCodes(left: number): boolean {
  return left <= 3;
}

/** @returns Such as `1 code left`. */
export function codesLeft(left: number): string {
  return left === 1 ? "1 code left" : `${left} codes left`;
}

/** @returns The page of two-step sign-in. */
export function twoStepPage(props: TwoStepPageProps): Page {
  const { frame, flash, error, recoveryCodes } = props;
  return (
    <PortalPage title="Two-step sign-in" frame={frame} place="security">
      <div class="head">
        <a class="up-link" href={securityBack.href}>
          <Icon name="back" />
          {securityBack.label}
        </a>
        <h1>Two-step sign-in</h1>
        <p class="muted">
          After your password, a code from an app on your phone. Whoever learns your password alone cannot
          sign in.
        </p>
      </div>
      {flash === null ? null : <Notice tone="done" text={flash} />}
      {error === null ? null : <Notice tone="refused" text={error} />}
      {recoveryCodes === null
        ? null
        : <RecoveryCodesNotice codes={recoveryCodes} email={frame.session.user.email} />}
      {props.confirmedAt === null ? <Off /> : (
        <>
          <On confirmedAt={props.confirmedAt} lockedAt={props.lockedAt} now={frame.now} />
          <RecoveryCodes left={props.recoveryCodesLeft} />
        </>
      )}
    </PortalPage>
  );
}

function Off() {
  return (
    <Card title="Authenticator app" aside={<Badge tone="off">Off</Badge>}>
      <p class="muted">
        You need an app such as Aegis, Google Authenticator, 1Password or the one in your phone's settings.
      </p>
      <form class="act-row" method="post" action={`${twoStepPath}/begin`} hx-disable="find button">
        <SubmitButton>Set up two-step sign-in</SubmitButton>
      </form>
    </Card>
  );
}

function On(
  { confirmedAt, lockedAt, now }: { confirmedAt: string; lockedAt: string | null; now: number },
) {
  return (
    <Card
      title="Authenticator app"
      aside={lockedAt === null ? <Badge tone="on">On</Badge> : <Badge tone="off">Locked</Badge>}
    >
      {lockedAt === null ? null : (
        <Notice
          tone="refused"
          text="Somebody who knows your password entered too many wrong codes. The app’s codes are taken again once you change your password."
        />
      )}
      <p class="muted">
        On since <DayTime at={confirmedAt} now={now} />. A <a href="/portal/account/passkeys">passkey</a>{" "}
        can take the place of the code.
      </p>
      <div class="act-row">
        <ButtonLink tone="plain-destroy" href={`${twoStepPath}/turn-off`}>Turn off</ButtonLink>
      </div>
    </Card>
  );
}

function RecoveryCodes({ left }: { left: number }) {
  return (
    <Card
      title="Recovery codes"
      aside={<Badge tone={isFewCodes(left) ? "soon" : "on"}>{codesLeft(left)}</Badge>}
    >
      <p class="muted">
        {isFewCodes(left) ? "There are few left: make new ones before you need them. " : ""}
        For when your phone is lost. Each works once; new ones end the old ones.
      </p>
      <div class="act-row">
        <ButtonLink href={`${twoStepPath}/recovery-codes`}>Make new codes</ButtonLink>
      </div>
    </Card>
  );
}
