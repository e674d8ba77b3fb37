// The reach of the emails about an organization's limits.

/** The organization's owners and admins, those who get the emails, and those who would if they had confirmed their address.
 *  `isOwn`: the reader is one of the latter. */
export interface LimitMailReach {
  readonly managers: number;
  readonly recipients: number;
  readonly unconfirmed: number;
  readonly isOwn: 0 | 1;
}

/** Emails about limits that were not written, by reason. */
export interface WithheldMails {
  /** For each owner or admin with an unconfirmed address. */
  unconfirmed: number;
  /** For each organization without owners and admins. */
  no_owner: number;
}
