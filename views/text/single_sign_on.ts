// Words about changes of an organization's single sign-on, for emails.
import type { MailFields, SingleSignOnChange } from "../../domain/mail/mail.ts";

/** The ends of sentences that begin with “Single sign-on of Acme”. */
export const singleSignOnSubjects: Readonly<Record<SingleSignOnChange, string>> = {
  added: "was set up",
  changed: "was changed",
  enforced: "is now required",
  not_enforced: "is no longer required",
  removed: "was removed",
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
    case "domain_lost":
      return `Another organization has verified the domain ${provider}, and ${organization}'s TXT record was gone. ` +
        `${organization}'s single sign-on doesn't apply to it anymore.`;
  }
}
