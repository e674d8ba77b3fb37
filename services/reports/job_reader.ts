// Who reads on the reports thread. Readers take turns, and none can open so many jobs that others have to wait.
import { type OperatorActor, operatorIdentity } from "../../domain/access/actor.ts";

/** Someone for whom a job reads, or work that needs one. Jobs with the same name are one reader's. */
export interface JobReader {
  readonly name: string;
  /**
   * True if recording, verifying, voiding or closing a month depends on the job: neither a full thread nor a server that is
   * shutting down rejects it.
   */
  readonly isWork: boolean;
}

/** Returns the reader for all keys of an organization: its members are another reader. */
export function keysOf(organizationId: string): JobReader {
  return { name: `keys of ${organizationId}`, isWork: false };
}

export function membersOf(organizationId: string): JobReader {
  return { name: `members of ${organizationId}`, isWork: false };
}

/** Returns the reader for an operator's account or token, or for the command line. */
export function operatorReader(actor: OperatorActor): JobReader {
  return { name: `operator ${operatorIdentity(actor).id ?? "on the command line"}`, isWork: false };
}

/** Returns the reader for recording usage of an organization, given by its number. */
export function recordingOf(organization: number): JobReader {
  return { name: `recording of ${organization}`, isWork: true };
}

export function verificationsOf(organizationId: string): JobReader {
  return { name: `verifications of ${organizationId}`, isWork: true };
}

/** Returns the reader for voiding records. @param voidedBy The id of a key or an operator. */
export function voidsBy(voidedBy: string): JobReader {
  return { name: `voids by ${voidedBy}`, isWork: true };
}

export const statementReader: JobReader = { name: "statements", isWork: true };
