// Users, as operators see them.
import type { Role } from "../access/session.ts";

/** A user as operators see them; a line of `user list --json`. Times in ISO 8601 UTC. */
export interface OperatorUser {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly createdAt: string;
  readonly emailVerifiedAt: string | null;
  readonly disabledAt: string | null;
  readonly isOperator: boolean;
  /** False until someone who signed up with a provider or was created without a password chooses one. */
  readonly hasPassword: boolean;
  readonly twoStep: boolean;
  /** The last sign-in among the live sessions. */
  readonly lastSignInAt: string | null;
  /** At most 100. */
  readonly organizations: readonly { readonly id: string; readonly name: string; readonly role: Role }[];
}
