// Words about changes of an organization's single sign-on, for emails.
import type { MailFields, SingleSignOnChange } from "../../domain/outbox/mail.ts";

/** The ends of sentences that begin with “Single sign-on of Acme”. */
export const singleSignOnSubjects: Readonly<Record<SingleSignOnChange, string>> = {
  added: "was set up",
  changed: "was changed",
  enforced: "is now required",
  not_enforced: "is no longer required",
  removed: "was removed",
  domain_missing: "has a domain without its TXT record",
  domain_unverified: "no longer applies to a domain",
  domain_lost: "lost a domain",
};

export function singleSignOnText(
  { organization, change, provider }: MailFields["single_sign_on_changed"],
): string {
  switch (change) {
    case "added":
      return `Single sign-on with ${provider} was set up for ${organization}.`;
    case "changed":
      return `Single sign-on with ${provider} was changed for ${organization}.`;
    case "enforced":
      return `People with addresses of ${organization}'s domains now sign in only with ${provider}. Owners can still use a passkey.`;
    case "not_enforced":
      return `People with addresses of ${organization}'s domains can sign in with passwords and passkeys again, and with ${provider}.`;
    case "removed":
      return `Single sign-on with ${provider} was removed from ${organization}. Its members sign in with passwords and passkeys.`;
    case "domain_missing":
      return `The TXT record at _gatehouse.${provider}, which proves that ${organization} owns the domain, is missing. ` +
        "Add it again: if it stays missing for two weeks, single sign-on doesn't apply to the domain anymore.";
    case "domain_unverified":
      return `The TXT record at _gatehouse.${provider} has been missing for two weeks, so the domain is no longer verified. ` +
        `${organization}'s single sign-on doesn't apply to it anymore. Add the record and verify the domain to change that.`;
    case "domain_lost":
      return `Another organization has verified the domain ${provider}, and ${organization}'s TXT record was gone. ` +
        `${organization}'s single sign-on doesn't apply to it anymore.`;
  }
}
