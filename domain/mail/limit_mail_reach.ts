// How many people get the emails about an organization's limits.

/** Numbers of people. */
export interface LimitMailReach {
  /** The organization's owners and admins. */
  readonly managers: number;
  /** Those of them who get the emails. */
  readonly recipients: number;
  /** Those of them who would get the emails if they had confirmed their address. */
  readonly unconfirmed: number;
}

/** Emails about limits that were not written, by reason. */
export interface WithheldMails {
  /** For each owner or admin with an unconfirmed address. */
  unconfirmed: number;
  /** For each organization without owners and admins. */
  no_owner: number;
}
