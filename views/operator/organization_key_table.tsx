// The API keys of one organization in the console.
import type { ApiKey } from "../../domain/api_key.ts";
import { ApiKeyStatus, KeyPrefix, PermissionsText } from "../api_keys/api_key_table.tsx";
import { ButtonLink } from "../components/button.tsx";
import { RelativeTime } from "../components/relative_time.tsx";
import { actionsColumn, Cell, Name, Row, Table } from "../components/table.tsx";
import { organizationHref } from "./links.ts";

const columns = [
  "Name",
  { title: "Key", isOptional: true },
  { title: "Last used", isOptional: true },
  "Status",
  actionsColumn,
];

/** @returns The address of the page that revokes a key. */
export function revokeKeyHref(organizationId: string, id: string): string {
  return `${organizationHref(organizationId)}/api-keys/${encodeURIComponent(id)}/revoke`;
}

/** The keys as a table, in the given order. */
export function OrganizationKeyTable(
  { organizationId, apiKeys, now }: {
    organizationId: string;
    apiKeys: readonly ApiKey[];
    now: number;
  },
) {
  return (
    <Table label="API keys" columns={columns} isSmall>
      {apiKeys.map((apiKey) => (
        <Row over={apiKey.status !== "active"}>
          <Cell place="title">
            <Name text={apiKey.name} />
            <span class="second">
              <PermissionsText permissions={apiKey.permissions} />
            </span>
          </Cell>
          <Cell label="Key" isOptional value={<KeyPrefix prefix={apiKey.keyPrefix} />} />
          <Cell label="Last used" isOptional>
            <span class="small">
              <RelativeTime at={apiKey.lastUsedAt} now={now} />
            </span>
          </Cell>
          <Cell place="state" value={<ApiKeyStatus apiKey={apiKey} now={now} />} />
          <Cell place="actions">
            {apiKey.status === "active" && (
              <ButtonLink
                tone="quiet-destroy"
                href={revokeKeyHref(organizationId, apiKey.id)}
                about={apiKey.name}
              >
                Revoke
              </ButtonLink>
            )}
          </Cell>
        </Row>
      ))}
    </Table>
  );
}
