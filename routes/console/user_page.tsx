// The console's page of a user.
import type { Identity } from "../../domain/people/identity.ts";
import type { OperatorUser } from "../../domain/console/user.ts";
import type { PasswordLink } from "../../services/console/mod.ts";
import { ActionsCard, type PageAction } from "../../views/components/actions_card.tsx";
import { Badge } from "../../views/components/badge.tsx";
import { Card } from "../../views/components/card.tsx";
import { Secret } from "../../views/components/code.tsx";
import { EmptyState } from "../../views/components/empty_state.tsx";
import { Facts } from "../../views/components/facts.tsx";
import { ItemTable } from "../../views/components/item_table.tsx";
import { Notice } from "../../views/components/notice.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { DayTime, RelativeTime } from "../../views/components/relative_time.tsx";
import { identityColumns } from "../../views/people/identities.tsx";
import { LinkedName } from "../../views/components/table.tsx";
import { type Place, type PortalFrame, PortalPage } from "../../views/layout.tsx";
import { organizationHref, usersHref } from "../../views/components/links.ts";
import { roleWords } from "../../views/text/role.ts";

/** The page of a user. @param props `link`: to choose a new password, shown once. */
export function userPage({ frame, place, user, actions, sessions, identities, passkeys, flash, link }: {
  frame: PortalFrame;
  place: Place;
  user: OperatorUser;
  actions: readonly PageAction[];
  sessions: readonly { device: string; address: string; createdAt: string; lastSeenAt: string }[];
  identities: readonly Identity[];
  passkeys: number;
  flash: string | null;
  link: PasswordLink | null;
}) {
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
        <Facts facts={factsOf(user, { passkeys, now })} />
      </div>
      <Card title="Organizations" flush>
        {user.organizations.length === 0
          ? <EmptyState title="No organizations" text="This user isn't a member of any organization." />
          : (
            <ItemTable
              label="Organizations"
              items={user.organizations}
              columns={[
                {
                  title: "Organization",
                  in: "title",
                  cell: ({ id, name }) => <LinkedName href={organizationHref(id)} name={name} />,
                },
                { title: "Role", cell: ({ role }) => <span>{roleWords[role]}</span> },
              ]}
            />
          )}
      </Card>
      <ConnectedProviders identities={identities} now={now} />
      <Card title="Sessions" flush>
        {sessions.length === 0
          ? <EmptyState title="Not signed in" text="This user has no sessions." />
          : (
            <ItemTable
              label="Sessions"
              items={sessions}
              columns={[
                { title: "Device", in: "title", cell: ({ device }) => <Device name={device} /> },
                { title: "IP address", cell: ({ address }) => <code>{address}</code> },
                {
                  title: "Last used",
                  cell: ({ lastSeenAt }) => <RelativeTime at={lastSeenAt} now={now} />,
                },
                { title: "Signed in", cell: ({ createdAt }) => <DayTime at={createdAt} now={now} /> },
              ]}
            />
          )}
      </Card>
      <ActionsCard title="Account access" actions={actions} />
    </PortalPage>
  );
}

function ConnectedProviders({ identities, now }: { identities: readonly Identity[]; now: number }) {
  if (identities.length === 0) return null;
  return (
    <Card title="Connected providers" flush>
      <ItemTable label="Connected providers" items={identities} columns={identityColumns(now)} />
    </Card>
  );
}

function Device({ name }: { name: string }) {
  return (
    <span class="name">
      <bdi>{name}</bdi>
    </span>
  );
}

function factsOf(user: OperatorUser, { passkeys, now }: { passkeys: number; now: number }) {
  const time = (at: string | null) => at === null ? "–" : <RelativeTime at={at} now={now} />;
  return [
    { label: "ID", value: <code class="pick">{user.id}</code> },
    { label: "Created", value: <DayTime at={user.createdAt} now={now} /> },
    {
      label: "Email confirmed",
      value: user.emailVerifiedAt === null ? "No" : <DayTime at={user.emailVerifiedAt} now={now} />,
    },
    { label: "Password", value: user.hasPassword ? "Set" : "Not set" },
    { label: "Passkeys", value: passkeys === 0 ? "None" : String(passkeys) },
    { label: "Two-step sign-in", value: user.twoStep ? "On" : "Off" },
    { label: "Last sign-in", value: time(user.lastSignInAt) },
    ...(user.disabledAt === null ? [] : [{ label: "Disabled", value: time(user.disabledAt) }]),
  ];
}

function LinkNotice(
  { address, expiresAt, user, now }: PasswordLink & { user: OperatorUser; now: number },
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

/** Shows if a user can sign in, and if they are an operator. */
export function UserBadges({ disabledAt, isOperator }: Pick<OperatorUser, "disabledAt" | "isOperator">) {
  return (
    <span class="buttons">
      {disabledAt === null ? <Badge tone="on">Active</Badge> : <Badge tone="soon">Disabled</Badge>}
      {isOperator && <Badge tone="off">Operator</Badge>}
    </span>
  );
}
