// What the audit log's page shows: what, who and when as a form, all of it in the address.
import {
  type AuditAction,
  auditActions,
  auditActionsOf,
  type AuditGroup,
  auditGroups,
} from "../../domain/audit.ts";
import { usagePageYearMax, usagePageYearMin } from "../../domain/limits.ts";
import type { AuditAddress } from "./audit_address.ts";
import { SubmitButton } from "../components/button.tsx";
import { type Choice, type ChoiceGroup, DateField, SelectField } from "../components/field.tsx";

/** Somebody whose entries can be chosen. */
export interface AuditPerson {
  readonly id: string;
  readonly name: string;
  /** Null for who has left. */
  readonly email: string | null;
}

/** One sentence for each field whose value was not taken. */
export type AuditFaults = Readonly<Partial<Record<"action" | "actorId" | "from" | "to", string>>>;

/** What {@linkcode AuditFilterBar} needs. */
export interface AuditFilterProps {
  readonly address: AuditAddress;
  readonly people: readonly AuditPerson[];
  readonly faults: AuditFaults;
}

const years = { min: `${usagePageYearMin}-01-01`, max: `${usagePageYearMax}-12-31` };

/** Menus are sent at every choice where scripts run; days by the button. */
export function AuditFilterBar({ address, people, faults }: AuditFilterProps) {
  return (
    <form class="filters" method="get" action="/portal/audit" data-send-on-change>
      <div class="selects">
        <SelectField
          label="What"
          name="action"
          value={address.action ?? ""}
          error={faults.action}
          choices={actionChoices()}
        />
        <SelectField
          label="Who"
          name="actorId"
          value={address.actorId ?? ""}
          error={faults.actorId}
          choices={personChoices(people, address.actorId)}
        />
        <DateField
          label="First day, UTC"
          name="from"
          value={address.from ?? ""}
          error={faults.from}
          isOptional
          {...years}
        />
        <DateField
          label="Last day, UTC"
          name="to"
          value={address.to ?? ""}
          error={faults.to}
          isOptional
          {...years}
        />
        <div class="show">
          <SubmitButton tone="plain">Show</SubmitButton>
        </div>
      </div>
    </form>
  );
}

/** The groups first, then each of their actions. */
function actionChoices(): (Choice | ChoiceGroup)[] {
  const groups = Object.entries(auditGroups) as [AuditGroup, string][];
  const named = (action: AuditAction) => ({ value: action, label: auditActions[action] });
  return [
    { value: "", label: "Everything" },
    ...groups.map(([value, label]) => ({ value, label })),
    ...groups.filter(([group]) => group !== "refusals").map(([group, label]) => ({
      label,
      choices: auditActionsOf(group).map(named),
    })),
    { label: "Attempts", choices: [named("access.denied")] },
  ];
}

/** People of one name are told apart by their addresses. */
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
    { value: "", label: "Everybody" },
    ...byName.filter(({ email }) => email !== null).map(choice),
    ...(former.length === 0 ? [] : [{ label: "No longer here", choices: former.map(choice) }]),
    ...(chosen === null || people.some(({ id }) => id === chosen) ? [] : [{ value: chosen, label: chosen }]),
  ];
}
