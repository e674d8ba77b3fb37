// The console's pages of operator tokens: the list, the form, the new token, and the page that revokes one.
import { apiKeyNameCharactersMax } from "../../domain/limits.ts";
import { operatorScopes, scopeMeanings } from "../../domain/operator/operator_scope.ts";
import type { OperatorToken } from "../../domain/operator/operator_token.ts";
import { Badge } from "../components/badge.tsx";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { NewSecret } from "../components/code.tsx";
import { ConfirmPage } from "../components/confirm_page.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { ExpiryField, expiryValue } from "../components/expiry_field.tsx";
import { CheckboxGroup, NameField, TextField } from "../components/field.tsx";
import { Form, type FormErrors } from "../components/form.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { PageLinks } from "../components/page_links.tsx";
import { DayTime, RelativeTime } from "../components/relative_time.tsx";
import { actionsColumn, Cell, Name, Row, Table } from "../components/table.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";

const list = "/operator/tokens";
const place = "operator/tokens";
const newHref = `${list}/new`;
const addressesCharactersMax = 2000;

/** @returns The address of the page that revokes a token. */
function revokeTokenHref(id: string): string {
  return `${list}/${encodeURIComponent(id)}/revoke`;
}

/** What the list shows. */
export interface TokensPageProps {
  readonly frame: PortalFrame;
  readonly tokens: readonly OperatorToken[];
  readonly nextHref: string | null;
  /** A token that was just created. */
  readonly created: { readonly name: string; readonly fullToken: string } | null;
  /** What was just done. */
  readonly flash: string | null;
}

/** @returns The list of tokens. */
export function tokensPage({ frame, tokens, nextHref, created, flash }: TokensPageProps): Page {
  const create = <ButtonLink tone="primary" href={newHref}>Create token</ButtonLink>;
  return (
    <PortalPage title="Operator tokens" frame={frame} place={place}>
      <PageHead
        title="Operator tokens"
        text="For programs that act on all organizations, such as billing. Each token is shown only once."
      >
        {tokens.length > 0 && create}
      </PageHead>
      <Notice tone="done" text={flash} />
      {created && <NewSecret what="token" name={created.name} value={created.fullToken} />}
      <Card title="Newest first" flush>
        {tokens.length === 0
          ? <EmptyState title="No tokens yet" text="Programs sign in with a token.">{create}</EmptyState>
          : <TokenTable tokens={tokens} now={frame.now} />}
      </Card>
      <PageLinks links={[{ href: nextHref, label: "Older tokens" }]} />
    </PortalPage>
  );
}

const columns = ["Token", "Scopes", "Addresses", "Last used", "Expires", "Status", actionsColumn];

function TokenTable({ tokens, now }: { tokens: readonly OperatorToken[]; now: number }) {
  return (
    <Table label="Operator tokens" columns={columns}>
      {tokens.map((token) => (
        <Row over={token.status !== "active"}>
          <Cell place="title">
            <Name text={token.name} />
            <div class="muted tiny">
              <code>{token.tokenPrefix}</code>
              {` by ${token.createdBy?.name ?? "the command line"}`}
            </div>
          </Cell>
          <Cell label="Scopes" value={<span>{token.scopes.join(", ")}</span>} />
          <Cell label="Addresses" value={<span>{token.addresses.join(", ") || "Any"}</span>} />
          <Cell label="Last used">
            <span>
              <RelativeTime at={token.lastUsedAt} now={now} />
            </span>
          </Cell>
          <Cell label="Expires">
            <span>
              {token.status === "revoked" ? "–" : <RelativeTime at={token.expiresAt} now={now} />}
            </span>
          </Cell>
          <Cell place="state" value={<Status token={token} now={now} />} />
          <Cell place="actions">
            {token.status === "active" && (
              <div class="actions-row">
                <ButtonLink tone="quiet-destroy" href={revokeTokenHref(token.id)} about={token.name}>
                  Revoke
                </ButtonLink>
              </div>
            )}
          </Cell>
        </Row>
      ))}
    </Table>
  );
}

function Status({ token: { status, revokedAt }, now }: { token: OperatorToken; now: number }) {
  if (status === "active") return <Badge tone="on">Active</Badge>;
  if (revokedAt === null) return <Badge tone="off">Expired</Badge>;
  return (
    <Badge tone="off">
      Revoked <DayTime at={revokedAt} now={now} />
    </Badge>
  );
}

/** What the form shows. */
export interface NewTokenPageProps extends FormErrors {
  readonly frame: PortalFrame;
  /** As typed. Chosen scopes are fields of their own. */
  readonly input: Readonly<Record<string, string>>;
}

/** @returns The page that creates a token. */
export function newTokenPage({ frame, input, fields, message }: NewTokenPageProps): Page {
  const chosen = new Set(operatorScopes.filter((scope) => input[scope] !== undefined));
  const addressFault = Object.entries(fields).find(([name]) => name.startsWith("addresses"))?.[1];
  return (
    <PortalPage title="Create operator token" frame={frame} place={place}>
      <PageHead
        back={{ href: list, label: "Operator tokens" }}
        title="Create operator token"
        text="Give it only what its program needs. Scopes can't be changed later."
      />
      <Form class="card" action={newHref}>
        <div class="body">
          <Notice tone="refused" text={message} />
          <div class="row half">
            <NameField
              label="Name"
              value={input["name"] ?? ""}
              placeholder="For example: Billing"
              error={fields["name"]}
              autocomplete="off"
              charactersMax={apiKeyNameCharactersMax}
              autofocus
            />
            <ExpiryField value={expiryValue(input)} fields={fields} now={frame.now} />
          </div>
          <TextField
            label="Allowed addresses (optional)"
            name="addresses"
            value={input["addresses"] ?? ""}
            placeholder="For example: 198.51.100.0/24 203.0.113.7"
            hint="IP addresses or CIDR blocks, separated by spaces. If empty, any address."
            error={addressFault}
            autocomplete="off"
            maxlength={addressesCharactersMax}
          />
        </div>
        <div class="body ruled">
          <CheckboxGroup
            label="Scopes"
            name="scopes"
            value={chosen}
            choices={Object.entries(scopeMeanings).map(([value, hint]) => ({ value, label: value, hint }))}
            error={fields["scopes"]}
          />
        </div>
        <footer>
          <SubmitButton>Create token</SubmitButton>
          <ButtonLink href={list}>Cancel</ButtonLink>
        </footer>
      </Form>
    </PortalPage>
  );
}

/** @returns The page that asks whether to revoke a token. */
export function revokeTokenPage(
  { frame, token, message }: { frame: PortalFrame; token: OperatorToken; message: string | null },
): Page {
  const { id, name, scopes, lastUsedAt } = token;
  return (
    <ConfirmPage
      frame={frame}
      place={place}
      title="Revoke token"
      heading="Revoke “{name}”?"
      name={name}
      text="Requests with this token will fail immediately. This can't be undone."
      facts={[
        { label: "Token", value: <code>{token.tokenPrefix}</code> },
        { label: "Scopes", value: scopes.join(", ") },
        { label: "Last used", value: <RelativeTime at={lastUsedAt} now={frame.now} /> },
      ]}
      action={revokeTokenHref(id)}
      submit="Revoke token"
      back={{ href: list, label: "Operator tokens" }}
      error={message}
    />
  );
}
