// The pages of two-step sign-in: a readable QR code, secrets shown once, and the right keyboards.
import assert from "node:assert/strict";
import { qrCodeSvg } from "../../../views/people/qr_code.ts";
import { cookieOf, type SendOptions, type TestApp, testApp, testPassword } from "../../support/app/app.ts";
import { run } from "../../support/people/scene.ts";
import { twoStepPerson } from "../../support/people/second_step.ts";
import { inPage, signInWords } from "../../support/portal/words/sign_in.ts";

const twoStep = "/portal/account/two-step";
const htmlOf = async (test: TestApp, path: string, options: SendOptions) =>
  await (await test.send(path, options)).text();

/** Enters the password. @returns The page of the second step. */
async function secondStepPage(test: TestApp, email: string, path = "/sign-in/second-step"): Promise<string> {
  const response = await test.send("/sign-in", {
    form: { email, password: testPassword, return_to: "/portal/usage" },
  });
  return await htmlOf(test, path, { cookie: cookieOf(response) });
}

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

testApp("the second step asks for digits, or for a recovery code with a text keyboard", async (test) => {
  const { email } = await twoStepPerson(test);
  const code = await secondStepPage(test, email, "/sign-in/second-step?return_to=/portal/usage");
  assert.match(code, /<input type="text" id="code"[^>]*autocomplete="one-time-code" inputmode="numeric"/);
  assert.match(code, /href="\/sign-in\/second-step\?recovery=1&amp;return_to=%2Fportal%2Fusage"/);
  const recovery = await secondStepPage(test, email, "/sign-in/second-step?recovery=1");
  assert.match(recovery, /autocomplete="off" inputmode="text"/);
  assert.match(recovery, /<input type="hidden" name="recovery" value="1"/);
});

testApp(
  "recovery codes are shown once, to copy and as a file without scripts, with a warning when few are left",
  async (test) => {
    const { cookie } = await twoStepPerson(test);
    const html = await htmlOf(test, `${twoStep}/recovery-codes`, { cookie, form: {} });
    const [code = ""] = /[0-9A-Z]{4}(-[0-9A-Z]{4}){3}/.exec(html) ?? [];
    assert.match(html, inPage(signInWords.codesShownOnce));
    assert.match(html, /data-copy="recovery-codes"/);
    const link = /href="(data:text\/plain[^"]+)" download="gatehouse-recovery-codes.txt" hx-boost="false"/
      .exec(html);
    assert.ok(decodeURIComponent(link?.[1] ?? "").includes(`\n${code}\n`));
    const few = inPage("You have few codes left");
    for (const [left, isFew] of [[4, false], [3, true], [1, true]] as const) {
      await run(
        test,
        "DELETE FROM recovery_codes WHERE code_hash NOT IN (SELECT code_hash FROM recovery_codes LIMIT ?)",
        left,
      );
      const page = await htmlOf(test, twoStep, { cookie });
      assert.equal(few.test(page), isFew, String(left));
      assert.doesNotMatch(page, new RegExp(`${code}|data:`));
      if (left === 1) assert.match(page, />1 code left</);
    }
  },
);
