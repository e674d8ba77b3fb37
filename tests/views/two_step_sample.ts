// Sample pages of two-step sign-in and passkeys. sample.ts has the others.
import type { GateFrame, Page, PortalFrame } from "../../views/layout.tsx";
import {
  addPasskeyPage,
  passkeysPage,
  removePasskeyPage,
  renamePasskeyPage,
} from "../../views/sign_in/passkeys.tsx";
import {
  newRecoveryCodesPage,
  turnOffByLinkPage,
  turnOffLinkPage,
  turnOffTwoStepPage,
  twoStepPage,
  twoStepSetUpPage,
} from "../../views/sign_in/two_step.tsx";
import { secondStepPage } from "../../views/sign_in/second_step.tsx";

/** @returns Every page of two-step sign-in by name, with `text` wherever user text can appear. */
export function twoStepPages(
  text: string,
  { frame, gateFrame }: { frame: PortalFrame; gateFrame: GateFrame },
): Readonly<Record<string, Page>> {
  const step = {
    frame: gateFrame,
    email: text,
    hasPasskeys: true,
    isRecovery: false,
    returnTo: text,
    form: { message: text, fields: { code: text }, input: { code: text } },
  };
  const at = "2026-11-20T14:03:11.000Z";
  const off = {
    frame,
    confirmedAt: null,
    lockedAt: null,
    recoveryCodesLeft: 0,
    recoveryCodes: null,
    flash: text,
    error: text,
  };
  const on = { ...off, confirmedAt: at, recoveryCodesLeft: 3 };
  const passkey = { id: `pas_1/${text}`, name: text, createdAt: at, lastUsedAt: at };
  return {
    "second step": secondStepPage(step),
    "second step, recovery code": secondStepPage({ ...step, isRecovery: true, hasPasskeys: false }),
    "two-step sign-in, off": twoStepPage(off),
    "two-step sign-in, on": twoStepPage({ ...on, recoveryCodes: ["7KQ2-MXFB-0D9T-HE4W"] }),
    "two-step sign-in, locked": twoStepPage({ ...on, lockedAt: at }),
    "two-step sign-in, set up": twoStepSetUpPage({
      frame,
      secret: "JBSWY3DPEHPK3PXP",
      otpauthUrl: `otpauth://totp/${encodeURIComponent(text)}`,
      form: step.form,
    }),
    "two-step sign-in, turn off": turnOffTwoStepPage({ frame, recoveryCodesLeft: 1 }),
    "two-step sign-in, link": turnOffLinkPage({
      frame,
      form: { message: text, fields: { password: text } },
    }),
    "two-step sign-in, by link": turnOffByLinkPage({
      frame: gateFrame,
      state: "ready",
      token: text,
      email: text,
    }),
    "two-step sign-in, by link, elsewhere": turnOffByLinkPage({ frame: gateFrame, state: "other" }),
    "two-step sign-in, by link, dead": turnOffByLinkPage({ frame: gateFrame, state: "dead" }),
    "new recovery codes": newRecoveryCodesPage({ frame, recoveryCodesLeft: 1 }),
    "passkeys": passkeysPage({ frame, passkeys: [passkey, { ...passkey, lastUsedAt: null }], flash: text }),
    "passkeys, none": passkeysPage({ frame, passkeys: [], flash: null }),
    "passkeys, add": addPasskeyPage({
      frame,
      form: { message: text, fields: { name: text }, input: { name: text } },
    }),
    "passkeys, rename": renamePasskeyPage({
      frame,
      passkey,
      form: { message: null, fields: { name: text }, input: { name: text } },
    }),
    "passkeys, remove": removePasskeyPage({ frame, passkey }),
  };
}
