// Limits on emails to one recipient from all senders and servers. docs/decisions/0023 explains them.

/** Invitations. Beyond the second limit, only senders with a confirmed address invite. */
export const invitationMailsToRecipientPerDayMax = 10;
export const unverifiedInvitationMailsToRecipientPerDayMax = 3;
export const verificationMailsToRecipientPerDayMax = 10;
export const emailChangeMailsToRecipientPerDayMax = 5;
/** Links to reset a password and to turn off two-step sign-in. Each works for an hour. */
export const accountLinkMailsToRecipientPerHourMax = 5;
/** Notices to an unconfirmed address. A confirmed address gets all notices. */
export const noticesToUnconfirmedRecipientPerDayMax = 10;
/** Emails of all kinds to an unconfirmed address. Beyond the second limit, only password reset links are sent. */
export const mailsToUnconfirmedRecipientPerDayMax = 20;
export const otherMailsToUnconfirmedRecipientPerDayMax = 15;
