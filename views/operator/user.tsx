// The console's pages about one user.
import type { OperatorUser } from "../../domain/operator/user.ts";
import { ButtonLink } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { Secret } from "../components/code.tsx";
import { ConfirmPage } from "../components/confirm_page.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { Facts } from "../components/facts.tsx";
import { RadioGroup } from "../components/field.tsx";
import type { FormErrors } from "../components/form.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { DayTime, RelativeTime } from "../components/relative_time.tsx";
import { Cell, LinkedName, Row, Table } from "../components/table.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { roleWords } from "../text/role.ts";
import { organizationHref, userHref, usersHref } from "./links.ts";
import { UserBadges } from "./users.tsx";

const place = "operator/users";

/** What can be done with a user. Each has a page. */
export type UserAction = "reset-password" | "sign-out" | "disable" | "enable";

/** @returns The address of a page about a user. */
function userActionHref(id: string, action: UserAction): string {
  return `${userHref(id)}/${action}`;
}

/** What a user's page shows. Times in ISO 8601 UTC. */
export interface UserPageProps {
  readonly frame: PortalFrame;
  readonly user: OperatorUser;
  readonly sessions: readonly {
    /** The name of the browser or program. */
    readonly device: string;
    readonly address: string;
    readonly createdAt: string;
    readonly lastSeenAt: string;
  }[];
  /** What was just done. */
  readonly flash: string | null;
  /** A link to choose a new password, shown once. */
  readonly link: { readonly address: string; readonly expiresAt: string } | null;
}

/** @returns A user's page. */
export function userPage({ frame, user, sessions, flash, link }: UserPageProps): Page {
  const { now } = frame;
  return (
    <PortalPage title={user.name} frame={frame} place={place}>
      <PageHead
        back={{ href: usersHref, label: "Users" }}
        title="{name}"
        name={user.name}
        text={user.email}
      >
        <UserBadges {...user} />
      </PageHead>
      <Notice tone="done" text={flash} />
      {link && <LinkNotice {...link} user={user} now={now} />}
      <div class="card">
        <Facts facts={factsOf(user, now)} />
      </div>
      <Card title="Organizations" flush>
        {user.organizations.length === 0
          ? <EmptyState title="No organizations" text="This user isn't a member of any organization." />
          : (
            <Table label="Organizations" columns={["Organization", "Role"]}>
              {user.organizations.map(({ id, name, role }) => (
                <Row>
                  <Cell place="title" value={<LinkedName href={organizationHref(id)} name={name} />} />
                  <Cell label="Role" value={<span>{roleWords[role]}</span>} />
                </Row>
              ))}
            </Table>
          )}
      </Card>
      <Card title="Sessions" flush>
        {sessions.length === 0
          ? <EmptyState title="Not signed in" text="This user has no sessions." />
          : (
            <Table label="Sessions" columns={["Device", "IP address", "Last used", "Signed in"]}>
              {sessions.map((session) => (
                <Row>
                  <Cell place="title">
                    <span class="name">
                      <bdi>{session.device}</bdi>
                    </span>
                  </Cell>
                  <Cell label="IP address" value={<code>{session.address}</code>} />
                  <Cell label="Last used" value={<RelativeTime at={session.lastSeenAt} now={now} />} />
                  <Cell label="Signed in" value={<DayTime at={session.createdAt} now={now} />} />
                </Row>
              ))}
            </Table>
          )}
      </Card>
      <Card title="Account access" flush>
        <Actions user={user} />
      </Card>
    </PortalPage>
  );
}

function factsOf(user: OperatorUser, now: number) {
  const time = (at: string | null) => at === null ? "–" : <RelativeTime at={at} now={now} />;
  return [
    { label: "ID", value: <code class="pick">{user.id}</code> },
    { label: "Created", value: <DayTime at={user.createdAt} now={now} /> },
    {
      label: "Email confirmed",
      value: user.emailVerifiedAt === null ? "No" : <DayTime at={user.emailVerifiedAt} now={now} />,
    },
    { label: "Two-step sign-in", value: user.twoStep ? "On" : "Off" },
    { label: "Last sign-in", value: time(user.lastSignInAt) },
    ...(user.disabledAt === null ? [] : [{ label: "Disabled", value: time(user.disabledAt) }]),
  ];
}

function LinkNotice(
  { address, expiresAt, user, now }: NonNullable<UserPageProps["link"]> & { user: OperatorUser; now: number },
) {
  return (
    <section class="notice" aria-labelledby="link-title" tabindex={-1} autofocus>
      <div>
        <h2 id="link-title">
          Give this link to <bdi>{user.name}</bdi>
        </h2>
        <p class="small">
          <strong>Copy it now. It won't be shown again.</strong>
          {" It works once, and expires "}
          <RelativeTime at={expiresAt} now={now} />. Anyone who has it can choose the password.
        </p>
      </div>
      <Secret id="reset-link" value={address} copy="Copy link" />
    </section>
  );
}

function Actions({ user: { id, disabledAt } }: { user: OperatorUser }) {
  const actions: readonly { title: string; text: string; action: UserAction; label: string }[] = [
    ...(disabledAt !== null ? [] : [{
      title: "Reset password",
      text: "Sends a link to choose a new password. Sessions end when it is changed.",
      action: "reset-password" as const,
      label: "Reset password",
    }, {
      title: "Sign out everywhere",
      text: "Ends all sessions, on every device and product.",
      action: "sign-out" as const,
      label: "Sign out",
    }]),
    disabledAt === null
      ? {
        title: "Disable",
        text: "The user is signed out and can't sign in until you enable the account again.",
        action: "disable",
        label: "Disable user",
      }
      : {
        title: "Enable",
        text: "The user can sign in again, with the same password.",
        action: "enable",
        label: "Enable user",
      },
  ];
  return (
    <ul class="acts">
      {actions.map(({ title, text, action, label }) => (
        <li>
          <div>
            <h3>{title}</h3>
            <p class="muted small">{text}</p>
          </div>
          <ButtonLink
            tone={action === "disable" ? "plain-destroy" : "plain"}
            href={userActionHref(id, action)}
          >
            {label}
          </ButtonLink>
        </li>
      ))}
    </ul>
  );
}

const confirmations = {
  "reset-password": {
    title: "Reset password",
    heading: "Reset the password of {name}?",
    submit: "Reset password",
    tone: "primary",
  },
  "sign-out": {
    title: "Sign out everywhere",
    heading: "Sign {name} out everywhere?",
    text: "All sessions end immediately, on every device and product. The user can sign in again.",
    submit: "Sign out",
    tone: "destroy",
  },
  "disable": {
    title: "Disable user",
    heading: "Disable {name}?",
    text:
      "Sessions, emailed links and pending invitations end immediately, and the user can't sign in. You can enable the account again.",
    submit: "Disable user",
    tone: "destroy",
  },
  "enable": {
    title: "Enable user",
    heading: "Enable {name}?",
    text:
      "The user can sign in again, with the same password. Sessions and invitations that ended stay ended.",
    submit: "Enable user",
    tone: "primary",
  },
} as const;

/** @returns The page that asks whether to do something to a user. `keys`: what was chosen for their API keys. */
export function confirmUserPage({ frame, user, action, keys, fields, message }: FormErrors & {
  frame: PortalFrame;
  user: OperatorUser;
  action: UserAction;
  keys: string;
}): Page {
  const words = confirmations[action];
  return (
    <ConfirmPage
      frame={frame}
      place={place}
      title={words.title}
      heading={words.heading}
      name={user.name}
      text={"text" in words ? words.text : resetText(frame, user)}
      facts={[
        { label: "Email", value: user.email },
        { label: "Organizations", value: user.organizations.map(({ name }) => name).join(", ") || "None" },
      ]}
      action={userActionHref(user.id, action)}
      submit={words.submit}
      tone={words.tone}
      back={{ href: userHref(user.id), label: user.name }}
      error={message}
    >
      {action === "disable" && (
        <RadioGroup
          label="What should happen to the API keys that this user created?"
          name="keys"
          value={keys}
          choices={[
            { value: "keep", label: "Keep", hint: "Requests with these keys keep working." },
            { value: "revoke", label: "Revoke", hint: "Requests with these keys will fail immediately." },
          ]}
          error={fields["keys"]}
        />
      )}
    </ConfirmPage>
  );
}

function resetText({ sendsMail }: PortalFrame, { email }: OperatorUser): string {
  return sendsMail
    ? `We'll email a link to ${email}. Earlier links stop working; the current password works until it is changed.`
    : "No mail server is set up, so you'll get the link and pass it on. Earlier links stop working; the current password works until it is changed.";
}
