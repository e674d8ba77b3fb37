// The security page of an account: the password, two-step sign-in, passkeys, and sessions.
import { countOf } from "../../domain/number_text.ts";
import type { Identity } from "../../domain/people/identity.ts";
import type { OfferedProvider } from "../../domain/people/identity_provider.ts";
import { Badge } from "../components/badge.tsx";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { PasswordField, UsernameField } from "../components/field.tsx";
import { Form, type ShownForm } from "../components/form.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { DayTime, RelativeTime } from "../components/relative_time.tsx";
import { actionsColumn, Cell, Row, Table } from "../components/table.tsx";
import { Unconfirmed } from "../components/unconfirmed.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { IdentitiesCard } from "./identities.tsx";
import { passkeysPath } from "./passkeys.tsx";
import { codesLeft, isFewCodes, securityLink, twoStepPath } from "./two_step.tsx";

/** A session in the list. Times are ISO 8601 UTC. */
interface SessionRow {
  readonly id: string;
  readonly current: boolean;
  /** Such as `Chrome on Linux`. */
  readonly device: string;
  readonly address: string;
  readonly createdAt: string;
  readonly lastSeenAt: string;
}

interface SecurityPageProps {
  readonly frame: PortalFrame;
  readonly sessions: readonly SessionRow[];
  readonly twoStep: { readonly isOn: boolean; readonly recoveryCodesLeft: number };
  readonly passkeyCount: number;
  readonly methods: {
    readonly hasPassword: boolean;
    readonly identities: readonly Identity[];
    readonly linkable: readonly OfferedProvider[];
  };
  readonly form?: ShownForm | undefined;
  readonly flash: string | null;
}

const { href: path } = securityLink;
export const firstPasswordPath = `${path}/first-password`;

export function securityPage(props: SecurityPageProps): Page {
  const { frame, sessions, flash } = props;
  return (
    <PortalPage title="Security" frame={frame} place="security">
      <PageHead
        title="Security"
        text={`Manage how you sign in. If you don't recognize a session below, ${
          props.methods.hasPassword
            ? "change your password: that signs out every other session."
            : "sign out everywhere else."
        }`}
      />
      <Notice tone="done" text={flash} />
      {props.methods.hasPassword ? <PasswordCard {...props} /> : <NoPasswordCard />}
      <div class="pair">
        <TwoStepCard {...props.twoStep} />
        <PasskeysCard count={props.passkeyCount} />
      </div>
      <IdentitiesCard {...props.methods} now={frame.now} />
      <Card
        title="Where you're signed in"
        aside={sessions.length < 2
          ? <p class="muted small">Only here</p>
          : (
            <Form action={`${path}/sessions/end-others`}>
              <SubmitButton tone="quiet-destroy">Sign out everywhere else</SubmitButton>
            </Form>
          )}
        flush
      >
        <Table label="Where you're signed in" columns={sessionColumns}>
          {sessions.map((session) => <SessionTableRow session={session} now={frame.now} />)}
        </Table>
      </Card>
    </PortalPage>
  );
}

function PasswordCard({ frame, form }: SecurityPageProps) {
  return (
    <Card title="Password">
      <Form class="parts" action={`${path}/password`} error={form?.message}>
        <UsernameField email={frame.session.user.email} />
        <div class="row two">
          <PasswordField
            label="Current password"
            name="currentPassword"
            error={form?.fields["currentPassword"]}
          />
          <PasswordField
            label="New password"
            name="newPassword"
            isNew
            error={form?.fields["newPassword"]}
          />
          <SubmitButton tone="plain">Change password</SubmitButton>
        </div>
        <p class="muted small">
          You stay signed in here and are signed out everywhere else.{" "}
          <a href="/forgot-password">Forgot your password?</a>
        </p>
      </Form>
      <Unconfirmed
        frame={frame}
        text="Until you confirm your email address, resetting a forgotten password also revokes your API keys and removes all other members from your organizations."
      />
    </Card>
  );
}

function NoPasswordCard() {
  return (
    <Card title="Password" aside={<Badge tone="off">None</Badge>}>
      <div class="between">
        <p class="muted">
          You sign in without a password. With one, you can also sign in with your email address.
        </p>
        <ButtonLink href={firstPasswordPath}>Set a password</ButtonLink>
      </div>
    </Card>
  );
}

function TwoStepCard({ isOn, recoveryCodesLeft: left }: SecurityPageProps["twoStep"]) {
  return (
    <Card title="Two-step sign-in" aside={<Badge tone={isOn ? "on" : "off"}>{isOn ? "On" : "Off"}</Badge>}>
      <p class="muted">
        After your password or provider, enter a code from an app on your phone.
        {isOn && isFewCodes(left) ? ` Recovery codes: ${codesLeft(left)}. Create new ones soon.` : ""}
      </p>
      <ButtonLink href={twoStepPath}>
        {isOn ? "Manage two-step sign-in" : "Set up two-step sign-in"}
      </ButtonLink>
    </Card>
  );
}

function PasskeysCard({ count }: { count: number }) {
  const badge = count === 0
    ? <Badge tone="off">None</Badge>
    : <Badge tone="on">{countOf(count, "passkey")}</Badge>;
  return (
    <Card title="Passkeys" aside={badge}>
      <p class="muted">Sign in with your fingerprint, your face, or a security key.</p>
      <ButtonLink href={passkeysPath}>{count === 0 ? "Set up passkeys" : "Manage passkeys"}</ButtonLink>
    </Card>
  );
}

const sessionColumns = [
  "Device",
  "IP address",
  "Last used",
  "Signed in",
  { title: "Status", isUnseen: true },
  actionsColumn,
];

function SessionTableRow({ session, now }: { session: SessionRow; now: number }) {
  const { id, current, device, address } = session;
  return (
    <Row>
      <Cell place="title">
        <span class="name">
          <bdi>{device}</bdi>
        </span>
      </Cell>
      <Cell label="IP address" value={<code>{address}</code>} />
      <Cell label="Last used">
        {current ? <span>Now</span> : <RelativeTime at={session.lastSeenAt} now={now} />}
      </Cell>
      <Cell label="Signed in" value={<DayTime at={session.createdAt} now={now} />} />
      <Cell place="state">{current ? <Badge tone="on">This session</Badge> : null}</Cell>
      <Cell place="actions">
        {!current && (
          <Form class="actions-row" action={`${path}/sessions/${encodeURIComponent(id)}/end`}>
            <SubmitButton tone="quiet-destroy" about={`${device}, ${address}`}>Sign out</SubmitButton>
          </Form>
        )}
      </Cell>
    </Row>
  );
}
