// The parameters of a request to an endpoint of programs.
import { OAuthError } from "./oauth_error.ts";

/** Names of parameters with their values, which aren't empty. */
export type Form = ReadonlyMap<string, string>;

/** @throws {OAuthError} `invalid_request` without the parameter. */
export function requireParameter(form: Form, name: string): string {
  const value = form.get(name);
  if (value === undefined) throw new OAuthError("invalid_request", `The parameter ${name} is missing.`);
  return value;
}
