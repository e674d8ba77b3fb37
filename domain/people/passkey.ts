// Passkeys as people and programs see them.

/** A passkey in its owner's list. Times are ISO 8601 UTC. */
export interface Passkey {
  readonly id: string;
  readonly name: string;
  /** The host that it works at, if it isn't this service's anymore; else null. */
  readonly otherHost: string | null;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
}
