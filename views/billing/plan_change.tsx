// What a change of plans and limits does: what differs, and who already uses more.
import { sortedPermissions } from "../../domain/keys/key_permissions.ts";
import type { Catalogue } from "../../domain/meter/catalogue.ts";
import { type BudgetLimit, storedNotifyAt, type UsageLimit } from "../../domain/meter/usage_limit.ts";
import { countOf, groupDigits } from "../../domain/number_text.ts";
import type { EffectiveLimits, LimitsBelowUse } from "../../domain/billing/lowered_limits.ts";
import { planNumberNames } from "../../domain/billing/plan.ts";
import { ConfirmPage, type ConfirmPageProps } from "../components/confirm_page.tsx";
import { Notice } from "../components/notice.tsx";
import { ItemTable } from "../components/item_table.tsx";
import { LinkedName, Name } from "../components/table.tsx";
import type { Page } from "../layout.tsx";
import { limitName, limitQuantity, notifyText } from "../text/limit.ts";
import { organizationHref } from "../components/links.ts";
import { numberText, numberWords } from "../text/plan.ts";

interface ValueChange {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

/** Returns what differs between two sets of values, with the names of a catalogue. Limits are the same if they count the same. */
export function valueChanges(
  before: EffectiveLimits,
  after: EffectiveLimits,
  catalogue: Catalogue,
): readonly ValueChange[] {
  const numbers = planNumberNames.map((name) => ({
    name: numberWords[name],
    before: numberText(name, before[name]),
    after: numberText(name, after[name]),
  }));
  const limits = limitChanges(before.limits, after.limits, catalogue);
  return [...numbers.filter((change) => change.before !== change.after), ...limits];
}

type ShownLimit = Omit<UsageLimit, "id" | "notifyAt"> & Pick<BudgetLimit, "notifyAt">;

function limitChanges(
  before: readonly ShownLimit[],
  after: readonly ShownLimit[],
  catalogue: Catalogue,
): ValueChange[] {
  const [old, next] = [before, after].map((limits) =>
    new Map(limits.map((limit) => [limitName(limit), limit]))
  ) as [Map<string, ShownLimit>, Map<string, ShownLimit>];
  const text = (limit: ShownLimit | undefined) =>
    limit === undefined ? "No limit" : limitText(limit, catalogue);
  return [...new Map([...old, ...next])].map(([key, limit]) => ({
    name: limitName(limit, catalogue),
    before: text(old.get(key)),
    after: text(next.get(key)),
  })).filter((change) => change.before !== change.after);
}

/** Returns the differences of a plan's default budget. */
export function budgetChanges(
  before: readonly BudgetLimit[],
  after: readonly BudgetLimit[],
  catalogue: Catalogue,
): readonly ValueChange[] {
  return limitChanges(before, after, catalogue)
    .map(({ name, ...change }) => ({ name: `Default budget: ${name}`, ...change }));
}

/** Returns the difference of a plan's features, if there is one. Their order and repetitions don't matter. */
export function featureChanges(before: readonly string[], after: readonly string[]): readonly ValueChange[] {
  const text = (features: readonly string[]) => sortedPermissions(features).join(", ") || "None";
  const change = { name: "Features", before: text(before), after: text(after) };
  return change.before === change.after ? [] : [change];
}

function limitText({ quantity, metric, mode, notifyAt }: ShownLimit, catalogue: Catalogue): string {
  const percentages = storedNotifyAt(notifyAt);
  const notified = percentages === null ? "" : `, notify at ${notifyText(percentages)}`;
  return `${limitQuantity({ quantity, metric }, catalogue)} (${mode}${notified})`;
}

function ChangeTable({ changes }: { changes: readonly ValueChange[] }) {
  return (
    <ItemTable
      label="Changes"
      items={changes}
      columns={[
        { title: "Setting", in: "title", cell: ({ name }) => <Name text={name} /> },
        { title: "Now", cell: ({ before }) => <span class="muted">{before}</span> },
        { title: "New", cell: ({ after }) => <span>{after}</span> },
      ]}
      isSmall
    />
  );
}

export interface ConfirmChangeProps
  extends Pick<ConfirmPageProps, "frame" | "place" | "name" | "facts" | "action" | "back"> {
  /** Such as `Change plan`, also on the button. */
  readonly title: string;
  readonly heading: string;
  readonly changes: readonly ValueChange[];
  readonly below: LimitsBelowUse;
  /** The names of products and metrics. */
  readonly catalogue: Catalogue;
  readonly input: Readonly<Record<string, string>>;
}

export function ConfirmChange({ changes, below, catalogue, input, ...page }: ConfirmChangeProps): Page {
  return (
    <ConfirmPage
      {...page}
      text="Changes take effect on the next request."
      hidden={{ ...input, confirmed: "on" }}
      submit={page.title}
      tone={below.organizationCount > 0 ? "destroy" : "primary"}
    >
      {changes.length === 0
        ? <p class="muted small">The limits stay as they are.</p>
        : <ChangeTable changes={changes} />}
      <BelowUseWarning {...below} catalogue={catalogue} />
    </ConfirmPage>
  );
}

/** A warning, with the organizations that it is about. Nothing if there are certainly none. */
function BelowUseWarning(
  { organizationCount, found, isComplete, catalogue }: LimitsBelowUse & { catalogue: Catalogue },
) {
  if (organizationCount === 0) return isComplete ? null : <Notice tone="error" text={notSearchedText} />;
  const one = organizationCount === 1;
  const others = organizationCount - new Set(found.map(({ organization }) => organization.id)).size;
  return (
    <>
      <Notice
        tone="error"
        text={`${isComplete ? "" : "At least "}${countOf(organizationCount, "organization")} already ${
          one ? "uses" : "use"
        } more than the new limits allow. Existing data, keys and members stay. Usage beyond a hard limit is rejected.`}
      />
      <ItemTable
        label="Over the new limits"
        items={found}
        columns={[
          {
            title: "Organization",
            in: "title",
            cell: ({ organization: { id, name }, what }) => {
              const note = typeof what === "string" ? numberWords[what] : limitName(what, catalogue);
              return <LinkedName href={organizationHref(id)} name={name} note={note} />;
            },
          },
          { title: "Used", isNumber: true, cell: ({ used }) => groupDigits(used) },
          { title: "Allowed", isNumber: true, cell: ({ allowed }) => groupDigits(allowed) },
        ]}
        isSmall
      />
      {others > 0 && <p class="muted small">{`And ${countOf(others, "other organization")}.`}</p>}
    </>
  );
}

const notSearchedText =
  "We couldn't check in time who already uses more than the new limits allow. Usage beyond a hard limit is rejected.";
