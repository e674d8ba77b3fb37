// Recovery codes: random, shown once, stored as SHA-256.
import { randomBytes } from "node:crypto";
import { recoveryCodesMax } from "../../domain/limits.ts";
import { parseSecondStepCode, recoveryCode } from "../../domain/sign_in/recovery_code.ts";
import { hashToken } from "./session_tokens.ts";

/** @returns New codes in the form that people see, and their hashes. */
export function newRecoveryCodes(): { codes: string[]; codeHashes: string[] } {
  const codes = Array.from({ length: recoveryCodesMax }, () => recoveryCode(randomBytes(10)));
  return { codes, codeHashes: codes.map((code) => hashRecoveryCode(parseSecondStepCode(code)?.code ?? "")) };
}

/** @param code In canonical form. @returns Its SHA-256: 80 random bits need neither salt nor a slow hash. */
export function hashRecoveryCode(code: string): string {
  return hashToken(`recovery:${code}`);
}
