// The pages that revoke several keys: those that were chosen in the list, or unused ones.
import { validationError } from "../../domain/errors.ts";
import { isId } from "../../domain/id.ts";
import { type ApiKey, withoutTag } from "../../domain/keys/api_key.ts";
import { countOf, groupDigits } from "../../domain/number_text.ts";
import { listChosenKeys, listUnusedKeys, revokeApiKeys, revokeUnusedKeys } from "../../services/keys/mod.ts";
import { readUsage } from "../../services/meter/mod.ts";
import { CheckboxGroup } from "../../views/components/field.tsx";
import { FormPage, type PageForm } from "../../views/components/form_page.tsx";
import { shortDate } from "../../views/text/time.ts";
import type { Viewer } from "../portal/form.ts";
import { inTime } from "../portal/in_time.ts";
import { mountFormPage, type Pages } from "../portal/noun_pages.ts";
import { type PortalParts, redirect } from "../portal/page.ts";

const path = "/api-keys";

export function keyRevocationPages(pages: Pages<Viewer>, parts: PortalParts): void {
  unusedPages(pages, parts);
  chosenPages(pages, parts);
}

/** Revokes keys without requests or usage for 90 days. */
function unusedPages(pages: Pages<Viewer>, { services }: PortalParts): void {
  mountFormPage(pages, {
    path: `${path}/revoke-unused`,
    async show(c, form, { access, frame }) {
      const { signal } = c.req.raw;
      const { lines, count } = await listUnusedKeys(services, access, signal);
      if (lines.length === 0) return redirect(c, frame.base + path);
      const ids = lines.map(({ id }) => id);
      const lastUsage = await readUsage(services, access, {
        job: "readLastUsage",
        query: { apiKeyIds: ids },
        signal,
      });
      const chosen = new Set(ids.filter((id) => form.input === undefined || form.input[id] !== undefined));
      return revokeKeysPage(form, { lines, lastUsage, chosen, unusedCount: count });
    },
    async submit(_c, { access, frame }, input) {
      const revoked = await revokeUnusedKeys(services, access, someIdsIn(input));
      return `${frame.base}${path}?done=revoked-unused&count=${revoked.length}`;
    },
  });
}

/** Revokes keys that the address names, as the list of keys does. */
function chosenPages(pages: Pages<Viewer>, { services }: PortalParts): void {
  mountFormPage(pages, {
    path: `${path}/revoke`,
    async show(c, form, { access, frame }) {
      const { input } = form;
      const lines = await listChosenKeys(services, access, keyIdsIn({ ...c.req.query(), ...input }));
      if (lines.length === 0 && input === undefined) {
        return redirect(c, `${frame.base}${path}?done=revoked-none`);
      }
      const apiKeyIds = lines.map(({ id }) => id);
      const chosen = new Set(input === undefined ? apiKeyIds : keyIdsIn(input));
      const action = form.action + new URL(c.req.url).search;
      const lastUsage = await inTime((signal) =>
        readUsage(services, access, { job: "readLastUsage", query: { apiKeyIds }, signal })
      );
      return revokeKeysPage({ ...form, action }, { lines, lastUsage, chosen });
    },
    async submit(_c, { access, frame }, input) {
      const ids = someIdsIn(input);
      const { length } = await revokeApiKeys(services, access, ids);
      const done = length === 0 ? "none" : length < ids.length ? "some" : "selected";
      return `${frame.base}${path}?done=revoked-${done}&count=${length}`;
    },
  });
}

function keyIdsIn(input: Readonly<Record<string, string>>): string[] {
  return Object.keys(input).filter((name) => isId("key", name));
}

/** @throws {AppError} `validation_failed` without a key. */
function someIdsIn(input: Readonly<Record<string, string>>): string[] {
  const ids = keyIdsIn(input);
  if (ids.length === 0) throw validationError([{ path: "keys", message: "Choose at least one key." }]);
  return ids;
}

interface RevokeKeysProps {
  readonly lines: readonly ApiKey[];
  /** The start of the quarter of an hour of the last usage, by key; null if it is not available. */
  readonly lastUsage: ReadonlyMap<string, number> | null;
  readonly chosen: ReadonlySet<string>;
}

/** `unusedCount`: of all unused keys, with those that are not shown; undefined for keys that were chosen. */
function revokeKeysPage(
  form: PageForm,
  { lines, lastUsage, chosen, unusedCount }: RevokeKeysProps & { readonly unusedCount?: number },
) {
  const chosenTitle = lines.length === 1 ? "Revoke key" : "Revoke keys";
  const shown = unusedCount !== undefined && unusedCount > lines.length
    ? `${groupDigits(lines.length)} of ${countOf(unusedCount, "key")}`
    : countOf(lines.length, "key");
  return (
    <FormPage
      {...form}
      title={unusedCount === undefined ? chosenTitle : "Revoke unused keys"}
      text="Requests with a revoked key will fail immediately. This can't be undone."
      submit="Revoke selected keys"
      tone="destroy"
      isNarrow
    >
      <CheckboxGroup
        label={unusedCount === undefined
          ? countOf(lines.length, "selected key")
          : `${shown} without requests or usage for 90 days`}
        name="keys"
        value={chosen}
        error={form.fields["keys"]}
        choices={lines.map((line) => ({
          value: line.id,
          label: line.name,
          isName: true,
          hint: useText(line, { lastUsage, now: form.frame.now }),
        }))}
      />
    </FormPage>
  );
}

function useText(
  { id, lastUsedAt, createdAt, keyPrefix }: ApiKey,
  { lastUsage, now }: Pick<RevokeKeysProps, "lastUsage"> & { now: number },
): string {
  const lastUsageAt = lastUsage?.get(id);
  const date = (at: string) => shortDate(Date.parse(at), now);
  const uses = [
    ...(lastUsedAt === null ? [] : [`Last request ${date(lastUsedAt)}`]),
    ...(lastUsageAt === undefined ? [] : [`Last usage ${shortDate(lastUsageAt, now)}`]),
  ];
  const never = lastUsage === null ? "No requests yet" : "Never used";
  const use = uses.length === 0 ? [`${never}, created ${date(createdAt)}`] : uses;
  return [...use, withoutTag(keyPrefix)].join(" · ");
}
