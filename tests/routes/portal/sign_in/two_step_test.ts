// The pages of the second step and of passkeys, as a browser without scripts requests them. What codes and passkeys do is tested with
// the API; return addresses are tested in tests/routes/portal/return_to_test.ts.
import assert from "node:assert/strict";
import { totpPeriodMs } from "../../../../domain/limits.ts";
import { cookieOf, type TestApp, testApp, testPassword } from "../../../support/app/app.ts";
import { assertRows, type Row } from "../../../support/app/rows.ts";
import { me } from "../../../support/people/people.ts";
import {
  addPasskey,
  codeOf,
  passkeyOptions,
  signInOptions,
  TestPasskey,
  twoStepPerson,
  wrongCode,
} from "../../../support/people/second_step.ts";
import { openPage } from "../../../support/portal/pages.ts";
import { signInWords } from "../../../support/portal/words/sign_in.ts";

const minuteMs = 60_000;
const account = "/portal/account";
const step = "/sign-in/second-step";

/** Signs in with the password. @returns The cookie of the second step. */
async function password(test: TestApp, email: string): Promise<string> {
  const sent = await openPage(test, "/sign-in", { form: { email, password: testPassword } });
  assert.equal(sent.location, step);
  return cookieOf(sent.answer);
}

testApp("the second step has a cookie of its own, which ends with it", async (test) => {
  const ada = await twoStepPerson(test);
  const { answer } = await openPage(test, "/sign-in", { form: { email: ada.email, password: testPassword } });
  const [set = "", ...more] = answer.headers.getSetCookie();
  assert.deepEqual(more, []);
  assert.match(set, /^sign_in_step=[\w-]{43}; Max-Age=600; Path=\/sign-in; HttpOnly; SameSite=Strict$/);
  const by = { cookie: cookieOf(answer) };
  const sent = await assertRows(test, by, [
    [`GET ${step}`, null, 200, { shows: [`<bdi>${ada.email}</bdi>`], hides: [/passkey/i] }],
    [`POST ${step}`, { code: codeOf(ada.secret, test.now()) }, "303 /portal"],
  ]);
  assert.equal((await me(test, cookieOf(sent.answer))).user?.id, ada.userId);
  assert.match(sent.answer.headers.getSetCookie().join(), /sign_in_step=; Max-Age=0; Path=\/sign-in/);
  await assertRows(test, by, [[`GET ${step}`, null, "303 /sign-in"]]);
});

testApp("without a pending sign-in, the second step asks for the password", async (test) => {
  for (const cookie of ["", "sign_in_step=x", `sign_in_step=${"A".repeat(43)}`]) {
    await assertRows(test, { cookie }, [
      [`POST ${step}`, { code: "123456" }, 409, { shows: ["Sign in again"] }],
      [`POST ${step}/passkey/options`, null, "409 two_step_state"],
    ]);
  }
});

testApp("works with planted unknown tokens, but not with another person's token", async (test) => {
  const ada = await twoStepPerson(test);
  const eve = await twoStepPerson(test, "Eve");
  const [hers, planted] = [await password(test, ada.email), await password(test, eve.email)];
  const form = { code: codeOf(ada.secret, test.now()) };
  await assertRows(test, { cookie: `${planted}; ${hers}` }, [[`POST ${step}`, form, 409]]);
  await assertRows(test, { cookie: `sign_in_step=old; ${hers}` }, [[`POST ${step}`, form, 303]]);
});

testApp("shows the error beside a wrong code, and asks for the password after five", async (test) => {
  const ada = await twoStepPerson(test);
  const code = wrongCode(ada.secret, test.now());
  const returnTo = 'name="return_to" value="/portal/usage"';
  const wrong: Row = [`POST ${step}`, { code, return_to: "/portal/usage" }, "401 code", {
    shows: [
      new RegExp(`name="code" value="${code}"[^>]*aria-invalid="true"`),
      `${signInWords.wrongCode} ${signInWords.newCodeSoon}</span></p>`,
      returnTo,
    ],
  }];
  await assertRows(test, { cookie: await password(test, ada.email) }, [
    wrong,
    [`POST ${step}`, { code: "7KQ2-MXFB", recovery: "1" }, "401 code", {
      shows: ['<label for="code">Recovery code</label>', `${signInWords.wrongCode}<`],
    }],
    wrong,
    wrong,
    [`POST ${step}`, { code, return_to: "/portal/usage" }, 401, {
      shows: ["Too many wrong codes. Sign in again.", 'action="/sign-in"', returnTo],
    }],
  ]);
});

testApp("two-step sign-in is set up and turned off page by page", async (test) => {
  const ada = await test.signUp();
  const path = `${account}/two-step`;
  const { html } = await assertRows(test, ada, [
    [`GET ${path}`, null, 200, { shows: [/>Off<.*Set up two-step sign-in/s] }],
    [`GET ${path}/set-up`, null, `303 ${path}`],
    [`POST ${path}/begin`, null, `303 ${path}/set-up`],
    [`GET ${path}/set-up`, null, 200, {
      shows: [
        '<div class="qr"><svg ',
        /<a href="otpauth:\/\/totp\/[^"]*secret=[A-Z2-7]{32}[^"]*" hx-boost="false">/,
      ],
    }],
  ]);
  const shown = /id="totp-secret"[^>]*>([A-Z2-7 ]+)</.exec(html)?.[1] ?? "";
  const code = () => codeOf(shown.replaceAll(" ", ""), test.now());
  const on = await assertRows(test, ada, [
    [`POST ${path}/set-up`, { code: "12 34" }, "401 code", {
      shows: [/value="12 34"[^>]*aria-invalid/, shown],
    }],
    [`POST ${path}/set-up`, { code: code() }, 201],
  ]);
  assert.equal(on.answer.headers.get("hx-push-url"), path);
  assert.equal(on.html.match(/<code>[0-9A-Z]{4}(-[0-9A-Z]{4}){3}/g)?.length, 10);
  const turnOff = `${path}/turn-off`;
  const confirm = `/portal/confirm-password?again=1&return_to=${encodeURIComponent(turnOff)}`;
  await assertRows(test, ada, [
    [`GET ${path}`, null, 200, { hides: [/[0-9A-Z]{4}(-[0-9A-Z]{4}){3}/] }],
    [`GET ${path}/set-up`, null, `303 ${path}`],
    [`POST ${path}/begin`, null, 409],
    [`GET ${path}/recovery-codes`, null, 200, { shows: ["Create new recovery codes?"] }],
    [`POST ${path}/recovery-codes`, null, 201],
    // The password alone is not enough.
    [`GET ${turnOff}`, null, `303 ${confirm}`],
    [`POST ${turnOff}`, null, `303 ${confirm}`],
    [`GET ${confirm}`, null, 200, { shows: [/a code to continue.*Get a link by email/s] }],
  ]);
  test.advance(totpPeriodMs);
  const proof = (code: string) => ({ password: testPassword, code, return_to: turnOff });
  await assertRows(test, ada, [
    ["POST /portal/confirm-password", proof(""), "422 code"],
    ["POST /portal/confirm-password", proof("abc"), 401],
    ["POST /portal/confirm-password", proof(code()), `303 ${turnOff}`],
    [`GET ${turnOff}`, null, 200, { shows: ["Turn off two-step sign-in?"] }],
    [`POST ${turnOff}`, null, `303 ${path}?done=off`],
    [`GET ${path}?done=off`, null, 200, { shows: ["Signing in no longer requires a code"] }],
    [`GET ${turnOff}`, null, `303 ${path}`],
  ]);
});

testApp("the security page shows the state of two-step sign-in and counts passkeys", async (test) => {
  const words = async ({ cookie }: { cookie: string }) =>
    (await openPage(test, `${account}/security`, { cookie })).html.replaceAll(/<[^>]+>/g, " ")
      .replaceAll(/\s+/g, " ");
  const off = await words(await test.signUp());
  assert.match(off, /Passkeys None .* Set up passkeys Two-step sign-in Off .* Set up two-step sign-in/);
  const ada = await twoStepPerson(test);
  await addPasskey(test, ada.cookie);
  const on = await words(ada);
  assert.match(on, /Passkeys 1 passkey .* Manage passkeys Two-step sign-in On .* Manage two-step sign-in/);
  assert.doesNotMatch(on, /left/);
  for (const code of ada.recoveryCodes.slice(0, 8)) {
    const cookie = await password(test, ada.email);
    await assertRows(test, { cookie }, [[`POST ${step}`, { code, recovery: "1" }, 303]]);
  }
  assert.match(await words(ada), /2 codes left/);
});

testApp("changes of two-step sign-in ask for the password unless it was recent", async (test) => {
  const ada = await twoStepPerson(test);
  const { id } = await addPasskey(test, ada.cookie);
  test.advance(10 * minuteMs);
  const asked = (page: string) =>
    `303 /portal/confirm-password?return_to=${encodeURIComponent(account + page)}`;
  const pages = [
    "/two-step/set-up",
    "/two-step/recovery-codes",
    "/two-step/turn-off",
    "/passkeys/new",
    `/passkeys/${id}/rename`,
    `/passkeys/${id}/remove`,
  ];
  await assertRows(test, ada, [
    ...pages.flatMap((page): Row[] => [
      [`GET ${account}${page}`, null, asked(page)],
      [`POST ${account}${page}`, { code: "123456", name: "x", response: "{}" }, asked(page)],
    ]),
    [`POST ${account}/two-step/begin`, null, asked("/two-step")],
    [`GET ${account}/two-step`, null, 200],
    [`GET ${account}/passkeys`, null, 200],
  ]);
});

testApp("passkeys are added, renamed and removed page by page, and sign in", async (test) => {
  const ada = await test.signUp();
  const path = `${account}/passkeys`;
  const passkey = new TestPasskey(test.config.baseUrl.origin);
  const registration = async () => JSON.stringify(passkey.register(await passkeyOptions(test, ada.cookie)));
  const { html } = await assertRows(test, ada, [
    [`GET ${path}`, null, 200, { shows: ["No passkeys yet"] }],
    [`POST ${path}/new`, { name: "  ", response: await registration() }, "422 name"],
    ...["", "{", "null", "{}", `{"id":"x"}`].map((response): Row => [
      `POST ${path}/new`,
      { name: "Laptop <1>", response },
      422,
      {
        shows: [
          "Your browser's response couldn't be read. Try again.",
          'name="name" value="Laptop &lt;1&gt;"',
        ],
      },
    ]),
    [`POST ${path}/new`, { name: "Laptop", response: await registration() }, `303 ${path}?done=added`],
    [`GET ${path}?done=added`, null, 200, { shows: [signInWords.passkeyAdded] }],
  ]);
  const one = `${path}/${/passkeys\/(pas_[0-9a-f]+)\/rename/.exec(html)?.[1]}`;
  await assertRows(test, ada, [
    [`POST ${one}/rename`, { name: "" }, "422 name"],
    [`POST ${one}/rename`, { name: "Desk" }, `303 ${path}?done=renamed`],
    [`GET ${one}/remove`, null, 200, { shows: ["Remove “<bdi>Desk</bdi>”?"] }],
  ]);
  const signIn = async () => ({
    response: JSON.stringify(passkey.signIn(await signInOptions(test))),
    return_to: "/portal/usage",
  });
  const signedIn = await assertRows(test, {}, [[
    "POST /sign-in/passkey",
    await signIn(),
    "303 /portal/usage",
  ]]);
  assert.equal((await me(test, cookieOf(signedIn.answer))).user?.id, ada.userId);
  await assertRows(test, ada, [[`POST ${one}/remove`, null, `303 ${path}?done=removed`]]);
  await assertRows(test, {}, [
    ["POST /sign-in/passkey", await signIn(), 401, {
      shows: [signInWords.passkeyRejected, 'name="return_to" value="/portal/usage"'],
    }],
    ["POST /sign-in/passkey", { response: "{" }, 401],
  ]);
});

testApp("a passkey completes the sign-in of the cookie", async (test) => {
  const ada = await twoStepPerson(test);
  const { passkey } = await addPasskey(test, ada.cookie);
  const by = { cookie: await password(test, ada.email) };
  const asked = await assertRows(test, by, [
    // Hidden until the script runs.
    [`GET ${step}`, null, 200, {
      shows: ["Use a passkey", /<form class="passkey"[^>]* hidden[^>]*>/, signInWords.passkeysNeedScripts],
    }],
    [`POST ${step}/passkey`, { response: "no" }, 401, { shows: [`action="${step}"`] }],
    [`POST ${step}/passkey/options`, null, 200],
  ]);
  const response = JSON.stringify(passkey.signIn(JSON.parse(asked.html).options));
  // Without the step's cookie, this path accepts no passkey, not even one that could sign in alone.
  const alone = JSON.stringify(passkey.signIn(await signInOptions(test)));
  await assertRows(test, {}, [[`POST ${step}/passkey`, { response: alone }, 409]]);
  const sent = await assertRows(test, by, [
    // An answer for the second step doesn't sign in without the password.
    ["POST /sign-in/passkey", { response }, 401],
    [`POST ${step}/passkey`, { response }, 303],
  ]);
  assert.equal((await me(test, cookieOf(sent.answer))).user?.id, ada.userId);
});
