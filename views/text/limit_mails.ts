// Sentences about emails about limits that no one gets, or not everyone.
import type { LimitMailReach } from "../../domain/outbox/limit_mail_reach.ts";
import { groupDigits } from "../../domain/number_text.ts";

/** Explains to members that emails are withheld; null if none are. @param what The subject of the emails. */
export function withheldText(
  { managers, recipients, unconfirmed }: LimitMailReach,
  what = "these limits",
): string | null {
  const noOne = noOneGets(what);
  if (managers === 0) return `${noOne}: the organization has no owner or admin.`;
  if (unconfirmed === 0) return null;
  if (unconfirmed === managers) return `${noOne}: no owner or admin has confirmed their email address.`;
  if (recipients === 0) {
    return `${noOne}: the owners and admins haven't confirmed their email address, or have turned the emails off.`;
  }
  return unconfirmed === 1
    ? `One owner or admin doesn't get emails about ${what}: their email address isn't confirmed.`
    : `${
      groupDigits(unconfirmed)
    } owners and admins don't get emails about ${what}: their email addresses aren't confirmed.`;
}

/** Explains it to operators, also if everyone has turned the emails off. */
export function missedText(reach: LimitMailReach, what = "these limits"): string | null {
  const isTurnedOff = reach.recipients === 0;
  return withheldText(reach, what) ??
    (isTurnedOff ? `${noOneGets(what)}: every owner and admin has turned them off or is disabled.` : null);
}

const noOneGets = (what: string) => `No one gets emails about ${what}`;
