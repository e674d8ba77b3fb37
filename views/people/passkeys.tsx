// The pages of a person's own passkeys.
import type { Passkey } from "../../domain/people/passkey.ts";
import { Badge } from "../components/badge.tsx";
import { ButtonLink } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { ConfirmPage } from "../components/confirm_page.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { NameField } from "../components/field.tsx";
import type { PageForm } from "../components/form_page.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { DayTime, RelativeTime } from "../components/relative_time.tsx";
import { actionsColumn, Cell, Name, Row, Table } from "../components/table.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { PasskeyForm, PasskeysMissing } from "./passkey_form.tsx";
import { securityLink } from "./two_step.tsx";

export const passkeysPath = "/portal/account/passkeys";
export const passkeysLink = { href: passkeysPath, label: "Passkeys" };

const columns = ["Name", "Added", "Last used", actionsColumn];

export function passkeysPage(
  { frame, passkeys, flash }: { frame: PortalFrame; passkeys: readonly Passkey[]; flash: string | null },
): Page {
  const add = <ButtonLink tone="primary" href={`${passkeysPath}/new`}>Add a passkey</ButtonLink>;
  return (
    <PortalPage title="Passkeys" frame={frame} place="security">
      <PageHead
        back={securityLink}
        title="Passkeys"
        text="Sign in with your fingerprint, your face, or a security key. Passkeys replace passwords and codes, and are phishing-resistant."
      >
        {passkeys.length > 0 && add}
      </PageHead>
      <Notice tone="done" text={flash} />
      <Card title="Your passkeys" flush>
        {passkeys.length === 0
          ? (
            <EmptyState
              title="No passkeys yet"
              text="Add one for each device, or one that your devices share."
            >
              {add}
            </EmptyState>
          )
          : (
            <Table label="Passkeys" columns={columns}>
              {passkeys.map((passkey) => <PasskeyRow passkey={passkey} now={frame.now} />)}
            </Table>
          )}
      </Card>
    </PortalPage>
  );
}

function PasskeyRow({ passkey, now }: { passkey: Passkey; now: number }) {
  const { id, name, otherHost } = passkey;
  const [added, lastUsed] = facts(passkey, now);
  return (
    <Row>
      <Cell place="title" value={<Name text={name} />} />
      <Cell label={added.label}>{added.value}</Cell>
      <Cell label={lastUsed.label}>
        {otherHost === null ? lastUsed.value : <Badge tone="soon">Only for {otherHost}</Badge>}
      </Cell>
      <Cell place="actions">
        <div class="actions-row">
          <ButtonLink tone="quiet" href={passkeyHref(id, "rename")} about={name}>Rename</ButtonLink>
          <ButtonLink tone="quiet-destroy" href={passkeyHref(id, "remove")} about={name}>Remove</ButtonLink>
        </div>
      </Cell>
    </Row>
  );
}

export function addPasskeyPage({ frame, place, back, action, error, field }: PageForm): Page {
  return (
    <PortalPage title="Add a passkey" frame={frame} place={place}>
      <div class="ask">
        <PageHead
          back={back}
          title="Add a passkey"
          text="Enter a name that you'll recognize. Your browser then asks where to save the passkey."
        />
        <Notice tone="error" text={error} />
        <Card title="New passkey">
          <PasskeyForm
            assets={frame.assets}
            ceremony="create"
            options="/api/portal/account/passkeys/options"
            action={action}
            reauthenticate={`/portal/confirm-password?return_to=${encodeURIComponent(action)}`}
            tone="primary"
            submit="Add passkey"
          >
            <NameField label="Name" {...field("name")} placeholder="Laptop" />
          </PasskeyForm>
          <PasskeysMissing />
        </Card>
      </div>
    </PortalPage>
  );
}

export function renamePasskeyPage({ field, ...form }: PageForm, passkey: Passkey): Page {
  return (
    <ConfirmPage
      {...form}
      title="Rename a passkey"
      heading="Rename “{name}”"
      name={passkey.name}
      text="Only the name here changes. Your device keeps its own name for the passkey."
      facts={facts(passkey, form.frame.now)}
      submit="Rename passkey"
      tone="primary"
    >
      <NameField label="New name" {...field("name", passkey.name)} autofocus />
    </ConfirmPage>
  );
}

export function removePasskeyPage(form: PageForm, passkey: Passkey): Page {
  return (
    <ConfirmPage
      {...form}
      title="Remove a passkey"
      heading="Remove “{name}”?"
      name={passkey.name}
      text="You can no longer sign in with it. Also delete it on your device, which may keep offering it. This can't be undone."
      facts={facts(passkey, form.frame.now)}
      submit="Remove passkey"
    />
  );
}

function passkeyHref(id: string, page: "rename" | "remove"): string {
  return `${passkeysPath}/${encodeURIComponent(id)}/${page}`;
}

function facts({ createdAt, lastUsedAt }: Passkey, now: number) {
  return [
    { label: "Added", value: <DayTime at={createdAt} now={now} /> },
    {
      label: "Last used",
      value: lastUsedAt === null ? <span>Never</span> : <RelativeTime at={lastUsedAt} now={now} />,
    },
  ] as const;
}
