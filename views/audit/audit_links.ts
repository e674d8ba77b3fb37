// The pages of what entries of the audit log are about.
import { isId } from "../../domain/id.ts";
import { apiKeyHref } from "../components/key_name.tsx";
import { recordHref } from "../meter/record_table.tsx";
import { organizationHref, userHref } from "../operator/links.ts";

export function objectHref(id: string, { isConsole }: { isConsole: boolean }): string | null {
  if (isConsole) {
    return isId("usr", id) ? userHref(id) : isId("org", id) ? organizationHref(id) : null;
  }
  if (isId("key", id)) return apiKeyHref("/portal", id);
  if (isId("usr", id)) return `/portal/members#${id}`;
  if (isId("org", id)) return "/portal/organization";
  return id.startsWith("use_") ? recordHref("/portal", id) : null;
}
