// The pages of the second step and of passkeys, as a browser without scripts requests them.
import assert from "node:assert/strict";
import { cookieOf, type TestApp, testApp, testPassword } from "../../../support/app/app.ts";
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
import { inPage, signInWords } from "../../../support/portal/words/sign_in.ts";

const minuteMs = 60_000;
const account = "/portal/account";

const password = async (test: TestApp, email: string, returnTo = "") => {
  const sent = await openPage(test, "/sign-in", {
    form: { email, password: testPassword, ...(returnTo === "" ? {} : { return_to: returnTo }) },
  });
  assert.equal(sent.status, 303);
  return { cookie: cookieOf(sent.answer), location: sent.location, set: sent.answer.headers.getSetCookie() };
};

testApp("signing in with two steps returns to the requested page", async (test) => {
  const ada = await twoStepPerson(test);
  const first = await password(test, ada.email, "/portal/usage?range=7d");
  assert.equal(first.location, "/sign-in/second-step?return_to=%2Fportal%2Fusage%3Frange%3D7d");
  assert.equal(first.set.length, 1);
  assert.match(
    first.set[0] ?? "",
    /^sign_in_step=[\w-]{43}; Max-Age=600; Path=\/sign-in; HttpOnly; SameSite=Strict$/,
  );
  const page = await openPage(test, first.location ?? "", { cookie: first.cookie });
  assert.equal(page.status, 200);
  assert.match(page.html, new RegExp(`<bdi>${ada.email}</bdi>`));
  assert.match(page.html, /name="return_to" value="\/portal\/usage\?range=7d"/);
  const sent = await openPage(test, "/sign-in/second-step", {
    cookie: first.cookie,
    form: { code: codeOf(ada.secret, test.now()), return_to: "/portal/usage?range=7d" },
  });
  assert.equal(sent.location, "/portal/usage?range=7d");
  assert.equal((await me(test, cookieOf(sent.answer))).user?.id, ada.userId);
  assert.ok(
    sent.answer.headers.getSetCookie().some((one) => /^sign_in_step=; Max-Age=0; Path=\/sign-in/.test(one)),
  );
  // The cookie of a completed step no longer works.
  const again = await openPage(test, "/sign-in/second-step", { cookie: first.cookie });
  assert.equal(again.location, "/sign-in");
});

testApp(
  "the second step redirects to no other site, and to the sign-in page if no sign-in is pending",
  async (test) => {
    const ada = await twoStepPerson(test);
    const { cookie } = await password(test, ada.email);
    const sent = await openPage(test, "/sign-in/second-step", {
      cookie,
      form: { code: codeOf(ada.secret, test.now()), return_to: "//evil.example" },
    });
    assert.equal(sent.location, "/portal");
    for (const cookie of ["", "sign_in_step=x", `sign_in_step=${"A".repeat(43)}`]) {
      const page = await openPage(test, "/sign-in/second-step?return_to=%2Fportal%2Fusage", { cookie });
      assert.equal(page.location, "/sign-in?return_to=%2Fportal%2Fusage");
      const form = await openPage(test, "/sign-in/second-step", { cookie, form: { code: "123456" } });
      assert.equal(form.status, 409);
      assert.match(form.html, /Enter your password again/);
      const options = await test.send("/sign-in/second-step/passkey/options", { method: "POST", cookie });
      assert.equal(options.status, 409);
      assert.equal((await options.json()).error.code, "two_step_state");
    }
  },
);

testApp("works with planted unknown tokens, but not with another person's token", async (test) => {
  const ada = await twoStepPerson(test);
  const eve = await twoStepPerson(test, "Eve");
  const hers = (await password(test, ada.email)).cookie;
  const planted = (await password(test, eve.email)).cookie;
  const form = { code: codeOf(ada.secret, test.now()) };
  const both = await openPage(test, "/sign-in/second-step", { cookie: `${planted}; ${hers}`, form });
  assert.equal(both.status, 409);
  const stale = await openPage(test, "/sign-in/second-step", { cookie: `sign_in_step=old; ${hers}`, form });
  assert.equal(stale.status, 303);
});

testApp("shows the error beside a wrong code, and asks for the password after five", async (test) => {
  const ada = await twoStepPerson(test);
  const { cookie } = await password(test, ada.email);
  const code = wrongCode(ada.secret, test.now());
  const send = (form: Record<string, string>) => openPage(test, "/sign-in/second-step", { cookie, form });
  const refused = await send({ code, return_to: "/portal/usage" });
  assert.equal(refused.status, 401);
  assert.match(refused.html, new RegExp(`name="code" value="${code}"[^>]*aria-invalid="true"`));
  assert.match(refused.html, /id="code-error"/);
  assert.match(refused.html, inPage(`${signInWords.wrongCode} ${signInWords.newCodeSoon}</span></p>`));
  assert.match(refused.html, /name="return_to" value="\/portal\/usage"/);
  const recovery = await send({ code: "7KQ2-MXFB", recovery: "1" });
  assert.match(recovery.html, /<label for="code">Recovery code<\/label>/);
  assert.match(recovery.html, /id="code-error"/);
  assert.match(recovery.html, inPage(`${signInWords.wrongCode}<`));
  await send({ code });
  await send({ code });
  const fifth = await send({ code, return_to: "/portal/usage" });
  assert.equal(fifth.status, 401);
  assert.match(fifth.html, inPage(signInWords.startOver));
  assert.match(fifth.html, /action="\/sign-in"/);
  assert.match(fifth.html, /name="return_to" value="\/portal\/usage"/);
});

testApp("setup, recovery codes and turning off work page by page", async (test) => {
  const ada = await test.signUp();
  const { cookie } = ada;
  const path = `${account}/two-step`;
  assert.match((await openPage(test, path, { cookie })).html, />Off<.*Set up two-step sign-in/s);
  assert.equal((await openPage(test, `${path}/set-up`, { cookie })).location, path, "no setup was started");
  assert.equal((await openPage(test, `${path}/begin`, { cookie, form: {} })).location, `${path}/set-up`);
  const page = await openPage(test, `${path}/set-up`, { cookie });
  const secret = /id="totp-secret"[^>]*>([A-Z2-7 ]+)</.exec(page.html)?.[1]?.replaceAll(" ", "") ?? "";
  const wrong = await openPage(test, `${path}/set-up`, { cookie, form: { code: "12 34" } });
  assert.equal(wrong.status, 401);
  assert.match(wrong.html, /value="12 34"[^>]*aria-invalid/);
  assert.ok(wrong.html.replaceAll(" ", "").includes(secret), "the same secret");
  const on = await openPage(test, `${path}/set-up`, { cookie, form: { code: codeOf(secret, test.now()) } });
  assert.equal(on.status, 201);
  assert.equal(on.answer.headers.get("hx-push-url"), path);
  assert.equal(on.html.match(/<code>[0-9A-Z]{4}(-[0-9A-Z]{4}){3}/g)?.length, 10);
  assert.doesNotMatch((await openPage(test, path, { cookie })).html, /[0-9A-Z]{4}(-[0-9A-Z]{4}){3}/);
  assert.equal((await openPage(test, `${path}/set-up`, { cookie })).location, path);
  assert.equal((await openPage(test, `${path}/begin`, { cookie, form: {} })).status, 409);

  assert.match(
    (await openPage(test, `${path}/recovery-codes`, { cookie })).html,
    inPage(signInWords.newCodes),
  );
  const made = await openPage(test, `${path}/recovery-codes`, { cookie, form: {} });
  assert.equal(made.status, 201);
  const turnOff = encodeURIComponent(`${path}/turn-off`);
  const confirm = `/portal/confirm-password?again=1&return_to=${turnOff}`;
  assert.equal(
    (await openPage(test, `${path}/turn-off`, { cookie })).location,
    confirm,
    "the proof was a password",
  );
  assert.equal((await openPage(test, `${path}/turn-off`, { cookie, form: {} })).location, confirm);
  assert.match((await openPage(test, confirm, { cookie })).html, /a code to continue.*Get a link by email/s);
  test.advance(30_000);
  const prove = (code: string) =>
    openPage(test, "/portal/confirm-password", {
      cookie,
      form: { password: testPassword, code, return_to: `${path}/turn-off` },
    });
  const empty = await prove("");
  assert.equal(empty.status, 422);
  assert.match(empty.html, /id="code-error"/);
  assert.equal((await prove("abc")).status, 401);
  assert.equal((await prove(codeOf(secret, test.now()))).location, `${path}/turn-off`);
  assert.match((await openPage(test, `${path}/turn-off`, { cookie })).html, inPage(signInWords.turnOff));
  assert.equal((await openPage(test, `${path}/turn-off`, { cookie, form: {} })).location, `${path}?done=off`);
  assert.match(
    (await openPage(test, `${path}?done=off`, { cookie })).html,
    /Your password alone signs you in/,
  );
  assert.equal((await openPage(test, `${path}/turn-off`, { cookie })).location, path);
});

testApp(
  "the security page shows whether two-step sign-in is on, and how many passkeys there are",
  async (test) => {
    const path = `${account}/security`;
    const words = async ({ cookie }: { cookie: string }) =>
      (await openPage(test, path, { cookie })).html.replaceAll(/<[^>]+>/g, " ").replaceAll(/\s+/g, " ");
    const off = await words(await test.signUp());
    assert.match(off, /Two-step sign-in Off .* Set up two-step sign-in Passkeys None .* Set up passkeys/);
    const ada = await twoStepPerson(test);
    await addPasskey(test, ada.cookie);
    const on = await words(ada);
    assert.match(on, /Two-step sign-in On .* Manage two-step sign-in Passkeys 1 passkey .* Manage passkeys/);
    assert.doesNotMatch(on, /left/);
    for (const code of ada.recoveryCodes.slice(0, 8)) {
      const { cookie } = await password(test, ada.email);
      const form = { code, recovery: "1" };
      assert.equal((await openPage(test, "/sign-in/second-step", { cookie, form })).status, 303);
    }
    assert.match(await words(ada), /2 codes left/);
  },
);

testApp(
  "changes of two-step sign-in ask for the password when the authentication is not recent",
  async (test) => {
    const ada = await twoStepPerson(test);
    const { id } = await addPasskey(test, ada.cookie);
    test.advance(10 * minuteMs);
    const { cookie } = ada;
    const asked = (page: string) =>
      `/portal/confirm-password?return_to=${encodeURIComponent(account + page)}`;
    const pages = [
      "/two-step/set-up",
      "/two-step/recovery-codes",
      "/two-step/turn-off",
      "/passkeys/new",
      `/passkeys/${id}/rename`,
      `/passkeys/${id}/remove`,
    ];
    for (const page of pages) {
      assert.equal((await openPage(test, account + page, { cookie })).location, asked(page));
      const form = { code: "123456", name: "x", response: "{}" };
      assert.equal((await openPage(test, account + page, { cookie, form })).location, asked(page));
      assert.match((await openPage(test, account + page)).location ?? "", /^\/sign-in\?/);
    }
    assert.equal(
      (await openPage(test, `${account}/two-step/begin`, { cookie, form: {} })).location,
      asked("/two-step"),
    );
    for (const page of ["/two-step", "/passkeys"]) {
      assert.equal(
        (await openPage(test, account + page, { cookie })).status,
        200,
        "reading requires no password",
      );
    }
  },
);

testApp("passkeys are added, renamed and removed page by page", async (test) => {
  const ada = await test.signUp();
  const eve = await test.signUp("Eve");
  const { cookie } = ada;
  const path = `${account}/passkeys`;
  assert.match((await openPage(test, path, { cookie })).html, /No passkeys yet/);
  const passkey = new TestPasskey(test.config.baseUrl.origin);
  const add = async (form: Record<string, string>) => await openPage(test, `${path}/new`, { cookie, form });
  const response = async () => JSON.stringify(passkey.register(await passkeyOptions(test, cookie)));
  const nameless = await add({ name: "  ", response: await response() });
  assert.equal(nameless.status, 422);
  assert.match(nameless.html, /id="name-error"/);
  for (const bad of ["", "{", "null", "{}", `{"id":"x"}`]) {
    const refused = await add({ name: "Laptop <1>", response: bad });
    assert.equal(refused.status, 422, bad);
    assert.match(refused.html, inPage(signInWords.unreadableResponse));
    assert.match(refused.html, /name="name" value="Laptop &lt;1&gt;"/);
  }
  assert.equal((await add({ name: "Laptop", response: await response() })).location, `${path}?done=added`);
  const list = await openPage(test, `${path}?done=added`, { cookie });
  assert.match(list.html, inPage(signInWords.passkeyAdded));
  const id = /passkeys\/(pas_[0-9a-f]+)\/rename/.exec(list.html)?.[1] ?? "";
  const empty = await openPage(test, `${path}/${id}/rename`, { cookie, form: { name: "" } });
  assert.equal(empty.status, 422);
  assert.equal(
    (await openPage(test, `${path}/${id}/rename`, { cookie, form: { name: "Desk" } })).location,
    `${path}?done=renamed`,
  );
  assert.match(
    (await openPage(test, `${path}/${id}/remove`, { cookie })).html,
    /Remove “<bdi>Desk<\/bdi>”\?/,
  );
  for (const page of ["rename", "remove"]) {
    assert.equal((await openPage(test, `${path}/${id}/${page}`, { cookie: eve.cookie })).status, 404);
    const form = { name: "Mine" };
    assert.equal((await openPage(test, `${path}/${id}/${page}`, { cookie: eve.cookie, form })).status, 404);
  }

  const signIn = async () =>
    await openPage(test, "/sign-in/passkey", {
      form: {
        response: JSON.stringify(passkey.signIn(await signInOptions(test))),
        return_to: "/portal/usage",
      },
    });
  const signedIn = await signIn();
  assert.equal(signedIn.location, "/portal/usage");
  assert.equal((await me(test, cookieOf(signedIn.answer))).user?.id, ada.userId);
  assert.equal(
    (await openPage(test, `${path}/${id}/remove`, { cookie, form: {} })).location,
    `${path}?done=removed`,
  );
  const refused = await signIn();
  assert.equal(refused.status, 401);
  assert.match(refused.html, inPage(signInWords.passkeyRejected));
  assert.match(refused.html, /name="return_to" value="\/portal\/usage"/);
  assert.equal((await openPage(test, "/sign-in/passkey", { form: { response: "{" } })).status, 401);
});

testApp("a passkey completes the sign-in of the cookie", async (test) => {
  const ada = await twoStepPerson(test);
  const { passkey } = await addPasskey(test, ada.cookie);
  const { cookie } = await password(test, ada.email);
  assert.match((await openPage(test, "/sign-in/second-step", { cookie })).html, /Use a passkey/);
  const asked = await test.send("/sign-in/second-step/passkey/options", { method: "POST", cookie });
  const { options } = await asked.json();
  const path = "/sign-in/second-step/passkey";
  const bad = await openPage(test, path, { cookie, form: { response: "no" } });
  assert.equal(bad.status, 401);
  assert.match(bad.html, /action="\/sign-in\/second-step"/);
  const response = JSON.stringify(passkey.signIn(options));
  // Without the step's cookie, this path accepts no passkey, not even one that could sign in alone.
  const alone = JSON.stringify(passkey.signIn(await signInOptions(test)));
  assert.equal((await openPage(test, path, { form: { response: alone } })).status, 409);
  // An answer for the second step doesn't sign in without the password.
  assert.equal((await openPage(test, "/sign-in/passkey", { cookie, form: { response } })).status, 401);
  const sent = await openPage(test, path, { cookie, form: { response } });
  assert.equal(sent.status, 303);
  assert.equal((await me(test, cookieOf(sent.answer))).user?.id, ada.userId);
});
