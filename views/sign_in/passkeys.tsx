// The page of one's own passkeys, and the one that adds one.
// deno-lint-ignore-file jsx-key -- pages are rendered once, as text: keys would only become attributes
import { nameCharactersMax } from "../../domain/limits.ts";
import type { Passkey } from "../../domain/sign_in/passkey.ts";
import { ButtonLink } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { TextField } from "../components/field.tsx";
import { Icon } from "../components/icon.tsx";
import { Notice } from "../components/notice.tsx";
import { PasskeyForm, PasskeysMissing } from "./passkey_form.tsx";
import { DayTime, RelativeTime } from "../components/relative_time.tsx";
import { Cell, type Column, Row, Table } from "../components/table.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { passkeyHref, passkeysBack, passkeysPath } from "./passkey_acts.tsx";
import { securityBack } from "./two_step.tsx";

/** What the page shows. */
export interface PasskeysPageProps {
  readonly frame: PortalFrame;
  readonly passkeys: readonly Passkey[];
  /** What was just done. */
  readonly flash: string | null;
}

const columns: readonly Column[] = [
  { title: "Name" },
  { title: "Added" },
  { title: "Last used" },
  { title: "Actions", isUnseen: true },
];

/** @returns The page of the person's passkeys. */
export function passkeysPage({ frame, passkeys, flash }: PasskeysPageProps): Page {
  const add = <ButtonLink tone="primary" href={`${passkeysPath}/new`}>Add a passkey</ButtonLink>;
  return (
    <PortalPage title="Passkeys" frame={frame} place="security">
      <div class="head split">
        <div>
          <a class="up-link" href={securityBack.href}>
            <Icon name="back" />
            {securityBack.label}
          </a>
          <h1>Passkeys</h1>
          <p class="muted">
            Sign in with your fingerprint, your face, or a key that you plug in: no password, no code, and
            nothing that a false page could take from you.
          </p>
        </div>
        {passkeys.length === 0 ? null : add}
      </div>
      {flash === null ? null : <Notice tone="done" text={flash} />}
      <Card title="Your passkeys" flush>
        {passkeys.length === 0
          ? (
            <EmptyState
              title="No passkeys yet"
              text="Add one on each device that you use, or one that they share."
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
  const { id, name, createdAt, lastUsedAt } = passkey;
  return (
    <Row>
      <Cell place="title">
        <div class="name">
          <bdi>{name}</bdi>
        </div>
      </Cell>
      <Cell label="Added">
        <DayTime at={createdAt} now={now} />
      </Cell>
      <Cell label="Last used">
        {lastUsedAt === null ? <span>Never</span> : <RelativeTime at={lastUsedAt} now={now} />}
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

/** What the page that adds a passkey shows. */
export interface AddPasskeyPageProps {
  readonly frame: PortalFrame;
  /** The name as typed. */
  readonly value: string;
  readonly fieldErrors: Readonly<Record<string, string>>;
  readonly error: string | null;
}

/** @returns The page that adds a passkey. */
export function addPasskeyPage({ frame, value, fieldErrors, error }: AddPasskeyPageProps): Page {
  const path = `${passkeysPath}/new`;
  return (
    <PortalPage title="Add a passkey" frame={frame} place="security">
      <div class="ask">
        <div class="head">
          <a class="up-link" href={passkeysBack.href}>
            <Icon name="back" />
            {passkeysBack.label}
          </a>
          <h1>Add a passkey</h1>
          <p class="muted">
            Give it a name that you will know again. Then your browser asks where to keep it.
          </p>
        </div>
        {error === null ? null : <Notice tone="refused" text={error} />}
        <Card title="New passkey">
          <PasskeyForm
            assets={frame.assets}
            act="create"
            options="/api/portal/account/passkeys/options"
            action={path}
            proof={`/portal/confirm-password?return_to=${encodeURIComponent(path)}`}
            tone="primary"
            submit="Add passkey"
          >
            <TextField
              label="Name"
              name="name"
              value={value}
              placeholder="For example: Laptop"
              error={fieldErrors["name"]}
              autocomplete="off"
              required
              maxlength={nameCharactersMax}
            />
          </PasskeyForm>
          <PasskeysMissing />
        </Card>
      </div>
    </PortalPage>
  );
}
