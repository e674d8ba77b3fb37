// The pages of two-step sign-in and passkeys: secrets shown once, a readable QR code, forms with the right keyboards.
import assert from "node:assert/strict";
import { qrCodeSvg } from "../../../views/sign_in/qr_code.ts";
import { secondStepPage } from "../../../views/sign_in/second_step.tsx";
import { twoStepPage } from "../../../views/sign_in/two_step.tsx";
import { twoStepPages } from "../two_step_sample.ts";
import { gateFrame, portalFrame } from "../sample.ts";
import { inPage, signInWords } from "../../support/portal/words/sign_in.ts";

const page = async (name: string, text = "Ada") =>
  String(await twoStepPages(text, { frame: portalFrame(text), gateFrame })[name]);
const on = {
  frame: portalFrame("Ada"),
  confirmedAt: "2026-11-20T14:03:11.000Z",
  lockedAt: null,
  recoveryCodesLeft: 10,
  recoveryCodes: null,
  flash: null,
  error: null,
};

Deno.test("qrCodeSvg() is black on white, depends on the text, and has no text in its markup", () => {
  const svg = qrCodeSvg(`otpauth://totp/<script>"'&`);
  assert.match(
    svg,
    /^<svg [^<>]*><path fill="#ffffff" d="M0 0h\d+v\d+H0z"\/><path fill="#000000" d="[Mhvz0-9 -]+"\/><\/svg>$/,
  );
  assert.doesNotMatch(svg, /style|class|otpauth/);
  assert.notEqual(svg, qrCodeSvg("another"));
  const size = Number(/viewBox="0 0 (\d+) /.exec(svg)?.[1]);
  const places = [...svg.matchAll(/M(\d+) (\d+)h1/g)].flatMap(([, x, y]) => [Number(x), Number(y)]);
  assert.ok(Math.min(...places) === 4 && Math.max(...places) === size - 5, "a white border of four modules");
});

Deno.test("secondStepPage() asks for digits, or for a recovery code with a text keyboard", async () => {
  const code = await page("second step");
  assert.match(code, /<input type="text" id="code"[^>]*autocomplete="one-time-code" inputmode="numeric"/);
  assert.match(code, /href="\/sign-in\/second-step\?recovery=1&amp;return_to=Ada"/);
  const recovery = await page("second step, recovery code");
  assert.match(recovery, /autocomplete="off" inputmode="text"/);
  assert.match(recovery, /<input type="hidden" name="recovery" value="1"/);
});

Deno.test("secondStepPage() offers a passkey only to people who have one, hidden until the script runs", async () => {
  const html = await page("second step");
  assert.match(html, /<form class="passkey"[^>]* hidden[^>]*>/);
  assert.match(html, inPage(signInWords.passkeysNeedScripts));
  const props = {
    frame: gateFrame,
    email: "a@b.c",
    hasPasskeys: false,
    isRecovery: false,
    returnTo: null,
    form: { message: null, fields: {} },
  };
  assert.doesNotMatch(String(await secondStepPage(props)), /passkey/i);
});

Deno.test("twoStepPage() shows recovery codes once, to copy and as a file without scripts", async () => {
  const html = String(await twoStepPage({ ...on, recoveryCodes: ["7KQ2-MXFB-0D9T-HE4W"] }));
  assert.match(html, inPage(signInWords.codesShownOnce));
  assert.match(html, /data-copy="recovery-codes"/);
  const link = /href="(data:text\/plain[^"]+)" download="gatehouse-recovery-codes.txt" hx-boost="false"/.exec(
    html,
  );
  assert.match(decodeURIComponent(link?.[1] ?? ""), /\n7KQ2-MXFB-0D9T-HE4W\n$/);
  assert.doesNotMatch(String(await twoStepPage(on)), /7KQ2|data:/);
});

Deno.test("twoStepPage() warns when few recovery codes are left", async () => {
  const few = inPage(signInWords.fewCodes);
  assert.match(String(await twoStepPage({ ...on, recoveryCodesLeft: 3 })), few);
  assert.doesNotMatch(String(await twoStepPage({ ...on, recoveryCodesLeft: 4 })), few);
  assert.match(String(await twoStepPage({ ...on, recoveryCodesLeft: 1 })), />1 code left</);
});

Deno.test("the setup page has the secret as a QR code, as text and as a link", async () => {
  const html = await page("two-step sign-in, set up");
  assert.match(html, /<div class="qr"><svg /);
  assert.match(html, />JBSW Y3DP EHPK 3PXP</);
  assert.match(html, /<a href="otpauth:\/\/totp\/Ada" hx-boost="false">/);
});
