// Whose share of the reports thread a report takes. Readers can fill their own share, and no one else's.
import { type OperatorActor, operatorIdentity } from "../../domain/actor.ts";

/** Someone who reads reports, or work that needs one. */
export interface ReportReader {
  readonly share: string;
  /**
   * True if recording, verifying, voiding or closing a month depends on the report: neither a full thread nor a server that is
   * shutting down rejects it.
   */
  readonly isWork: boolean;
}

/** Returns the reader for all keys of an organization: they leave its members their own share. */
export function keysOf(organizationId: string): ReportReader {
  return { share: `keys of ${organizationId}`, isWork: false };
}

/** Returns the reader for all members of an organization. */
export function membersOf(organizationId: string): ReportReader {
  return { share: `members of ${organizationId}`, isWork: false };
}

/** Returns the reader for an operator's account or token, or for the command line. */
export function operatorReader(actor: OperatorActor): ReportReader {
  return { share: `operator ${operatorIdentity(actor).id ?? "on the command line"}`, isWork: false };
}

/** Returns the reader for recording usage of an organization, given by its number. */
export function recordingOf(organization: number): ReportReader {
  return { share: `recording of ${organization}`, isWork: true };
}

/** Returns the reader for verifying keys of an organization. */
export function verificationsOf(organizationId: string): ReportReader {
  return { share: `verifications of ${organizationId}`, isWork: true };
}

/** Returns the reader for voiding records. @param voidedBy The id of a key or an operator. */
export function voidsBy(voidedBy: string): ReportReader {
  return { share: `voids by ${voidedBy}`, isWork: true };
}

/** The reader for closing months. */
export const statementReader: ReportReader = { share: "statements", isWork: true };
