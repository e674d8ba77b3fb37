// Passkeys as people and programs see them.

/** A passkey in its owner's list. Times are ISO 8601 UTC. */
export interface Passkey {
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
}
