// Sentences about emails about limits that no one gets, or not everyone.
import type { LimitMailReach } from "../../domain/mail/limit_mail_reach.ts";
import { groupDigits } from "../../domain/number_text.ts";

/** Explains to members that emails about limits are withheld; null if none are. */
export function withheldText({ managers, recipients, unconfirmed }: LimitMailReach): string | null {
  if (managers === 0) return `${noOne}: the organization has no owner or admin.`;
  if (unconfirmed === 0) return null;
  if (unconfirmed === managers) return `${noOne}: no owner or admin has confirmed their email address.`;
  if (recipients === 0) {
    return `${noOne}: the owners and admins haven't confirmed their email address, or have turned the emails off.`;
  }
  return unconfirmed === 1
    ? "One owner or admin doesn't get emails about these limits: their email address isn't confirmed."
    : `${
      groupDigits(unconfirmed)
    } owners and admins don't get emails about these limits: their email addresses aren't confirmed.`;
}

/** Explains it to operators, also if everyone has turned the emails off. */
export function missedText(reach: LimitMailReach): string | null {
  const isTurnedOff = reach.recipients === 0;
  return withheldText(reach) ??
    (isTurnedOff ? `${noOne}: every owner and admin has turned them off or is disabled.` : null);
}

const noOne = "No one gets emails about these limits";
