// Two-step sign-in with codes: there is no session between the steps, each code works once, and guesses are few.
import assert from "node:assert/strict";
import { totpPeriodMs } from "../../../../domain/limits.ts";
import { sql } from "../../../../db/engine/database.ts";
import { cookieOf, createTestKey, type TestApp, testApp } from "../../../support/app/app.ts";
import { assertRows, type Row, sendRow } from "../../../support/app/rows.ts";
import { onBothDatabases, onEveryDatabase } from "../../../support/meter/usage.ts";
import { lastMail, me, signInAgain } from "../../../support/people/people.ts";
import {
  codeOf,
  firstStep,
  reauthenticateWithCode,
  secondStep,
  twoStepPerson,
  wrongCode,
} from "../../../support/people/second_step.ts";

const minuteMs = 60_000;
const account = "/api/portal/account";
const path = "POST /api/auth/sign-in/second-step";
const status = async (test: TestApp, by: { cookie: string }) =>
  JSON.parse((await sendRow(test, by, `GET ${account}/two-step`)).html);
const off = {
  totp: { enabled: false, confirmedAt: null, lockedAt: null },
  recoveryCodesLeft: 0,
  passkeys: [],
};

/** Sends requests at the same time, and asserts that one of them signs in. */
async function assertOneSignsIn(requests: readonly Promise<Response>[]): Promise<void> {
  const statuses = (await Promise.all(requests)).map(({ status }) => status);
  assert.equal(statuses.filter((status) => status === 200).length, 1, String(statuses));
}

testApp("setting up an authenticator app shows its secret as text, URL and QR code", async (test) => {
  const ada = await test.signUp();
  assert.deepEqual(await status(test, ada), off);
  const { html } = await assertRows(test, ada, [[`POST ${account}/two-step/totp`, null, 200]]);
  const { secret, otpauthUrl, qrCode } = JSON.parse(html);
  assert.match(secret, /^[A-Z2-7]{32}$/);
  const url = new URL(otpauthUrl);
  const label = decodeURIComponent(url.pathname).replace(/^\/\/totp/, "");
  assert.equal(label, `/Gatehouse localhost:8000:${ada.email}`);
  assert.deepEqual(Object.fromEntries(url.searchParams), {
    issuer: "Gatehouse localhost:8000",
    secret,
    algorithm: "SHA1",
    digits: "6",
    period: "30",
  });
  assert.match(qrCode, /^<svg [^<>]*role="img"[^<>]*><path fill="#ffffff"[^<>]*\/><path fill="#000000"/);
  assert.doesNotMatch(qrCode, /style|script/);
  assert.deepEqual(await status(test, ada), off, "it stays off until the first code is confirmed");
  assert.equal((await me(test, await signInAgain(test, ada.email))).authenticated, true);
});

testApp("a code turns on two-step sign-in, which sends an email, and the next one signs in", async (test) => {
  const ada = await test.signUp();
  const begin = `POST ${account}/two-step/totp`;
  const { html } = await assertRows(test, ada, [[begin, null, 200]]);
  const { secret } = JSON.parse(html);
  const code = () => codeOf(secret, test.now());
  const confirmed = await assertRows(test, ada, [
    [`${begin}/confirm`, { code: wrongCode(secret, test.now()) }, "401 invalid_code code"],
    [`${begin}/confirm`, { code: code() }, 200],
  ]);
  const { recoveryCodes } = JSON.parse(confirmed.html);
  assert.equal(new Set(recoveryCodes).size, 10);
  for (const code of recoveryCodes) assert.match(code, /^([0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}$/);
  assert.deepEqual(await status(test, ada), {
    totp: { enabled: true, confirmedAt: new Date(test.now()).toISOString(), lockedAt: null },
    recoveryCodesLeft: 10,
    passkeys: [],
  });
  assert.match((await lastMail(test, ada.email)).subject, /two-step/i);
  const token = await firstStep(test, ada.email);
  await assertRows(test, ada, [
    [`${begin}/confirm`, { code: code() }, "409 two_step_state"],
    [begin, null, "409 two_step_state"],
    // The code that turned it on can't be used again.
    [path, { token, code: code() }, "401 invalid_code code"],
  ]);
  test.advance(totpPeriodMs);
  const { answer } = await assertRows(test, {}, [[path, { token, code: code() }, 200]]);
  assert.equal((await me(test, cookieOf(answer))).user?.id, ada.userId);
  const [entry] = await test.opened.database.read(
    sql`SELECT details FROM audit_events WHERE action = 'session.created' ORDER BY id DESC LIMIT 1`,
  );
  assert.deepEqual(JSON.parse(String(entry?.["details"])), { method: "password and code" });
});

testApp("between the steps every route responds as without a session", async (test) => {
  const ada = await twoStepPerson(test);
  const { id } = await createTestKey(test, ada);
  const token = await firstStep(test, ada.email);
  const routes = [
    ...new Set(
      test.app.routes.filter(({ method, path }) => method !== "ALL" && !path.endsWith("*"))
        .map(({ method, path }) => `${method} ${path}`),
    ),
  ];
  assert.ok(routes.length > 60, String(routes.length));
  let address = 0;
  for (const route of routes) {
    const [method = "", path = ""] = route.split(" ");
    const json = method === "GET" ? {} : { json: { name: "X" } };
    const ask = async (headers: Record<string, string>) => {
      const response = await test.send(path.replaceAll(/:\w+/g, id), {
        method,
        ...json,
        headers,
        peerAddress: `10.9.${++address >> 8}.${address & 255}`,
      });
      const text = (await response.text()).replaceAll(/req_[0-9a-f]+/g, "").replaceAll(
        /"challenge":"[^"]+"/g,
        "",
      );
      const shown = [...response.headers].filter(([name]) => name !== "x-request-id");
      // Metrics change with every request.
      return JSON.stringify([response.status, path === "/metrics" ? "" : text, shown]);
    };
    // A session that is over: pages say that it has expired.
    const nobody = await ask({ cookie: `access_token=${"A".repeat(token.length)}` });
    const cookie = `access_token=${token}; sign_in_step=${token}`;
    // The only two pages for this token.
    if (path.startsWith("/sign-in/second-step")) {
      assert.equal(await ask({ cookie: `access_token=${token}` }), nobody, route);
      continue;
    }
    assert.equal(await ask({ cookie }), nobody, route);
    // Pages read no such header.
    if (!path.startsWith("/api/")) continue;
    const [own, any] = [
      await ask({ authorization: `Bearer ${token}` }),
      await ask({ authorization: "Bearer x" }),
    ];
    assert.equal(own.slice(0, 4), any.slice(0, 4), route);
  }
  assert.equal((await me(test, `access_token=${token}`)).authenticated, false);
});

testApp("accepts codes one time step away, but none again and none before a used one", async (test) => {
  const ada = await twoStepPerson(test);
  test.advance(10 * totpPeriodMs);
  const rejected = "401 invalid_code code";
  const outcomes = [[-2, rejected], [2, rejected], [-1, 200], [0, 200], [0, rejected], [-1, rejected], [
    1,
    200,
  ]];
  for (const [steps, outcome = ""] of outcomes) {
    const code = codeOf(ada.secret, test.now() + Number(steps) * totpPeriodMs);
    await assertRows(test, {}, [[path, { token: await firstStep(test, ada.email), code }, outcome]]);
  }
});

onBothDatabases("concurrent requests with one code, or for one sign-in, create one session", async (test) => {
  const ada = await twoStepPerson(test);
  const sessions = async () =>
    (await test.opened.database.read(sql`SELECT 1 FROM sessions WHERE user_id = ${ada.userId}`)).length;
  const before = await sessions();
  const begin = async () => await firstStep(test, ada.email);
  const code = () => codeOf(ada.secret, test.now());
  const same = await begin();
  await assertOneSignsIn(
    [1, 2, 3].map((n) => secondStep(test, { token: same, code: code() }, `10.8.0.${n}`)),
  );
  assert.equal(await sessions(), before + 1);

  // One code for several sign-ins.
  test.advance(totpPeriodMs);
  const tokens = [await begin(), await begin()];
  await assertOneSignsIn(tokens.map((token, n) => secondStep(test, { token, code: code() }, `10.8.1.${n}`)));
  assert.equal(await sessions(), before + 2);

  // Two different codes for one sign-in.
  test.advance(2 * totpPeriodMs);
  const token = await begin();
  const codes = [code(), ada.recoveryCodes[0] ?? ""];
  await assertOneSignsIn(codes.map((code, n) => secondStep(test, { token, code }, `10.8.2.${n}`)));
  assert.equal(await sessions(), before + 3);
});

testApp("a recovery code works once, in any spelling, and the email says how many are left", async (test) => {
  const ada = await twoStepPerson(test);
  const [first = "", second = ""] = ada.recoveryCodes;
  const typed = ` ${first.toLowerCase().replaceAll("-", "").replaceAll("0", "o").replaceAll("1", "L")} `;
  await assertRows(test, {}, [[path, { token: await firstStep(test, ada.email), code: typed }, 200]]);
  assert.match((await lastMail(test, ada.email)).text, /\b9\b/);
  assert.equal((await status(test, ada)).recoveryCodesLeft, 9);
  const [token, other] = [await firstStep(test, ada.email), await firstStep(test, ada.email)];
  await assertRows(test, {}, [[path, { token, code: first }, "401 invalid_code code"]]);
  await assertOneSignsIn([token, other].map((token) => secondStep(test, { token, code: second })));
  const kept = JSON.stringify(await test.opened.database.read(sql`SELECT * FROM recovery_codes`));
  for (const code of ada.recoveryCodes) {
    assert.ok(!kept.includes(code) && !kept.includes(code.replaceAll("-", "")));
  }
});

onEveryDatabase(
  "new recovery codes replace the old ones, and don't work for another account",
  async (test) => {
    const ada = await twoStepPerson(test);
    const eve = await twoStepPerson(test, "Eve");
    const { html } = await assertRows(test, ada, [[`POST ${account}/two-step/recovery-codes`, null, 200]]);
    const { recoveryCodes } = JSON.parse(html);
    assert.equal(recoveryCodes.length, 10);
    assert.match((await lastMail(test, ada.email)).subject, /recovery codes/i);
    const token = await firstStep(test, ada.email);
    const wrong = [ada.recoveryCodes[0], eve.recoveryCodes[0], codeOf(eve.secret, test.now())];
    await assertRows(test, {}, [
      ...wrong.map((code): Row => [path, { token, code }, "401 invalid_code code"]),
      [path, { token, code: recoveryCodes[0] }, 200],
    ]);
  },
);

onEveryDatabase(
  "turning off two-step sign-in deletes its codes, and the password alone signs in",
  async (test) => {
    const ada = await twoStepPerson(test);
    await reauthenticateWithCode(test, ada);
    await assertRows(test, ada, [
      [`DELETE ${account}/two-step/totp`, null, 204],
      [`DELETE ${account}/two-step/totp`, null, "409 two_step_state"],
      [`POST ${account}/two-step/recovery-codes`, null, "409 two_step_state"],
    ]);
    for (const table of [sql`totp`, sql`recovery_codes`, sql`pending_sign_ins`]) {
      assert.deepEqual(await test.opened.database.read(sql`SELECT * FROM ${table}`), []);
    }
    assert.equal((await me(test, await signInAgain(test, ada.email))).authenticated, true);
  },
);

testApp("every change of two-step sign-in requires a recent authentication", async (test) => {
  const ada = await twoStepPerson(test);
  const code = codeOf(ada.secret, test.now());
  const { answer } = await assertRows(test, {}, [
    [path, { token: await firstStep(test, ada.email), code }, 200],
  ]);
  const by = { cookie: cookieOf(answer) };
  const unknown = `${account}/passkeys/pas_${"0".repeat(32)}`;
  test.advance(10 * minuteMs);
  await assertRows(test, by, [
    [`POST ${account}/two-step/totp`, null, "403 proof_required"],
    [`POST ${account}/two-step/totp/confirm`, { code: "123456" }, "403 proof_required"],
    [`DELETE ${account}/two-step/totp`, null, "403 proof_required"],
    [`POST ${account}/two-step/recovery-codes`, null, "403 proof_required"],
    [`POST ${account}/passkeys/options`, null, "403 proof_required"],
    [`PATCH ${unknown}`, { name: "x" }, "403 proof_required"],
    [`DELETE ${unknown}`, null, "403 proof_required"],
  ]);
  assert.equal((await status(test, by)).totp.enabled, true);
  await reauthenticateWithCode(test, { ...by, secret: ada.secret });
  await assertRows(test, by, [[`DELETE ${account}/two-step/totp`, null, 204]]);
});
