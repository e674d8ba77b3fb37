// The filters of the audit log. All choices are in the page's address.
import { zoneCity } from "../text/time.ts";
import { presentation } from "../../domain/presentation.ts";
import {
  type AuditAction,
  auditActions,
  auditActionsOf,
  type AuditGroup,
  auditGroups,
} from "../../domain/access/audit.ts";
import { type Choice, type ChoiceGroup, SelectField, TextField } from "../components/field.tsx";
import { ChosenFilters, type DayBounds, FilterMenu } from "../components/filter_menu.tsx";
import { listHref } from "../components/list_filters.tsx";

interface AuditPerson {
  readonly id: string;
  readonly name: string;
  /** Null for former members. */
  readonly email: string | null;
}

export type AuditErrors = Readonly<
  Partial<Record<"organizationId" | "action" | "actorId" | "from" | "to", string>>
>;

/** The filters of the page. Null selects everything. */
export interface AuditAddress extends DayBounds {
  /** In the operator console: an organization, whose whole log is shown, by its id or external id. */
  readonly organizationId: string | null;
  readonly action: string | null;
  readonly actorId: string | null;
  readonly targetId?: string | null;
  readonly cursor: string | null;
}

export const wholeAuditLog: AuditAddress = {
  organizationId: null,
  action: null,
  actorId: null,
  from: null,
  to: null,
  cursor: null,
};

export function auditHref(address: AuditAddress, path: string): string {
  return listHref(path, { ...address });
}

export interface AuditFilterProps {
  readonly path: string;
  readonly address: AuditAddress;
  /** Null in the console: then an organization can be chosen, but no actor. */
  readonly people: readonly AuditPerson[] | null;
  readonly errors: AuditErrors;
}

const organizationIdCharactersMax = 300;

export function AuditFilters({ path, address, people, errors }: AuditFilterProps) {
  const city = zoneCity(presentation().timezone);
  return (
    <FilterMenu
      path={path}
      kept={{ targetId: address.targetId || null }}
      days={address}
      labels={{ from: `From (${city})`, to: `To (${city})` }}
      errors={errors}
    >
      <SelectField
        label="Action"
        name="action"
        value={address.action ?? ""}
        error={errors.action}
        choices={actionChoices()}
      />
      {address.targetId ? null : people === null
        ? (
          <TextField
            type="search"
            label="Organization"
            name="organizationId"
            value={address.organizationId ?? ""}
            error={errors.organizationId}
            placeholder="ID, or external:ID"
            autocomplete="off"
            maxlength={organizationIdCharactersMax}
          />
        )
        : (
          <SelectField
            label="Actor"
            name="actorId"
            value={address.actorId ?? ""}
            error={errors.actorId}
            choices={personChoices(people, address.actorId)}
          />
        )}
    </FilterMenu>
  );
}

export function ChosenAuditFilters({ path, address, people, errors }: AuditFilterProps) {
  const { action, actorId, organizationId, targetId = null } = address;
  return (
    <ChosenFilters
      words={[
        errors.action ? null : actionName(action),
        actorId && (people?.find(({ id }) => id === actorId)?.name ?? actorId),
        organizationId,
      ]}
      days={address}
      clearHref={auditHref({ ...wholeAuditLog, targetId }, path)}
    />
  );
}

function actionName(action: string | null): string | null {
  const names: Readonly<Record<string, string>> = { ...auditActions, ...auditGroups };
  return action === null ? null : names[action] ?? null;
}

function actionChoices(): (Choice | ChoiceGroup)[] {
  const groups = Object.entries(auditGroups) as [AuditGroup, string][];
  const named = (action: AuditAction) => ({ value: action, label: auditActions[action] });
  return [
    { value: "", label: "All actions" },
    ...groups.map(([value, label]) => ({ value, label })),
    ...groups.filter(([group]) => group !== "refusals").map(([group, label]) => ({
      label,
      choices: auditActionsOf(group).map(named),
    })),
    { label: "Permissions", choices: [named("access.denied")] },
  ];
}

/** People with the same name are shown with their email addresses. */
function personChoices(people: readonly AuditPerson[], chosen: string | null): (Choice | ChoiceGroup)[] {
  const counts = new Map<string, number>();
  for (const { name } of people) counts.set(name, (counts.get(name) ?? 0) + 1);
  const choice = ({ id, name, email }: AuditPerson) => ({
    value: id,
    label: counts.get(name) === 1 || email === null ? name : `${name} (${email})`,
  });
  const byName = [...people].sort((a, b) => a.name < b.name ? -1 : 1);
  const former = byName.filter(({ email }) => email === null);
  return [
    { value: "", label: "Everyone" },
    ...byName.filter(({ email }) => email !== null).map(choice),
    ...(former.length === 0 ? [] : [{ label: "Former members", choices: former.map(choice) }]),
    ...(chosen === null || people.some(({ id }) => id === chosen) ? [] : [{ value: chosen, label: chosen }]),
  ];
}
