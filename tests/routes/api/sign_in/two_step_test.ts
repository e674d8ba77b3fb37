// Two-step sign-in with codes: there is no session between the steps, each code works once, and guesses are few.
import assert from "node:assert/strict";
import { totpPeriodMs } from "../../../../domain/limits.ts";
import { sql } from "../../../../db/engine/database.ts";
import { assertError, cookieOf, createTestKey, type TestApp, testApp } from "../../../support/app/app.ts";
import { lastMail, me } from "../../../support/people/people.ts";
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
const status = async (test: TestApp, cookie: string) =>
  await (await test.send(`${account}/two-step`, { cookie })).json();

testApp(
  "a code of the app turns on two-step sign-in, which sends an email and applies from the next sign-in",
  async (test) => {
    const ada = await test.signUp();
    const off = {
      totp: { enabled: false, confirmedAt: null, lockedAt: null },
      recoveryCodesLeft: 0,
      passkeys: [],
    };
    assert.deepEqual(await status(test, ada.cookie), off);
    const begun = await (await test.send(`${account}/two-step/totp`, { method: "POST", cookie: ada.cookie }))
      .json();
    assert.match(begun.secret, /^[A-Z2-7]{32}$/);
    const url = new URL(begun.otpauthUrl);
    assert.equal(
      decodeURIComponent(url.pathname).replace(/^\/\/totp/, ""),
      `/Gatehouse localhost:8000:${ada.email}`,
    );
    assert.deepEqual(Object.fromEntries(url.searchParams), {
      issuer: "Gatehouse localhost:8000",
      secret: begun.secret,
      algorithm: "SHA1",
      digits: "6",
      period: "30",
    });
    assert.match(
      begun.qrCode,
      /^<svg [^<>]*role="img"[^<>]*><path fill="#ffffff"[^<>]*\/><path fill="#000000"/,
    );
    assert.doesNotMatch(begun.qrCode, /style|script/);
    assert.deepEqual(await status(test, ada.cookie), off, "it stays off until the first code is confirmed");
    assert.equal(
      (await test.send("/api/auth/sign-in", {
        json: { email: ada.email, password: "correct horse 9 battery" },
      }).then((response) => response.json())).authenticated,
      true,
    );

    const confirm = (code: string) =>
      test.send(`${account}/two-step/totp/confirm`, { cookie: ada.cookie, json: { code } });
    const rejected = await assertError(
      await confirm(wrongCode(begun.secret, test.now())),
      401,
      "invalid_code",
    );
    assert.deepEqual(rejected.error.details?.map(({ path }) => path), ["code"]);
    const confirmed = await confirm(codeOf(begun.secret, test.now()));
    assert.equal(confirmed.status, 200);
    const { recoveryCodes } = await confirmed.json();
    assert.equal(new Set(recoveryCodes).size, 10);
    for (const code of recoveryCodes) {
      assert.match(
        code,
        /^([0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}$/,
      );
    }
    const on = await status(test, ada.cookie);
    assert.deepEqual(on, {
      totp: { enabled: true, confirmedAt: new Date(test.now()).toISOString(), lockedAt: null },
      recoveryCodesLeft: 10,
      passkeys: [],
    });
    assert.match((await lastMail(test, ada.email)).subject, /two-step/i);
    await assertError(await confirm(codeOf(begun.secret, test.now())), 409, "two_step_state");
    await assertError(
      await test.send(`${account}/two-step/totp`, { method: "POST", cookie: ada.cookie }),
      409,
      "two_step_state",
    );

    // The code that turned it on can't be used again.
    const token = await firstStep(test, ada.email);
    await assertError(
      await secondStep(test, { token, code: codeOf(begun.secret, test.now()) }),
      401,
      "invalid_code",
    );
    test.advance(totpPeriodMs);
    const answer = await secondStep(test, { token, code: codeOf(begun.secret, test.now()) });
    assert.equal(answer.status, 200);
    assert.equal((await answer.clone().json()).user.id, ada.userId);
    assert.equal((await me(test, cookieOf(answer))).authenticated, true);
    const [entry] = await test.opened.database.read(
      sql`SELECT details FROM audit_events WHERE action = 'session.created' ORDER BY id DESC LIMIT 1`,
    );
    assert.deepEqual(JSON.parse(String(entry?.["details"])), { method: "password and code" });
  },
);

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
    assert.equal(
      (await ask({ authorization: `Bearer ${token}` })).slice(0, 4),
      (await ask({ authorization: "Bearer x" })).slice(0, 4),
      route,
    );
  }
  assert.equal((await me(test, `access_token=${token}`)).authenticated, false);
});

testApp("rejects a replayed code, and the code before it", async (test) => {
  const ada = await twoStepPerson(test);
  const code = codeOf(ada.secret, test.now());
  const first = await secondStep(test, { token: await firstStep(test, ada.email), code });
  assert.equal(first.status, 200);
  const token = await firstStep(test, ada.email);
  await assertError(await secondStep(test, { token, code }), 401, "invalid_code");
  const earlier = codeOf(ada.secret, test.now() - totpPeriodMs);
  await assertError(await secondStep(test, { token, code: earlier }), 401, "invalid_code");
  const later = codeOf(ada.secret, test.now() + totpPeriodMs);
  assert.equal((await secondStep(test, { token, code: later })).status, 200);
});

testApp("accepts codes one time step away, and rejects codes two steps away", async (test) => {
  const ada = await twoStepPerson(test);
  test.advance(10 * totpPeriodMs);
  for (const steps of [-2, 2]) {
    const code = codeOf(ada.secret, test.now() + steps * totpPeriodMs);
    const response = await secondStep(test, { token: await firstStep(test, ada.email), code });
    await assertError(response, 401, "invalid_code");
  }
  for (const steps of [-1, 0, 1]) {
    const code = codeOf(ada.secret, test.now() + steps * totpPeriodMs);
    const answer = await secondStep(test, { token: await firstStep(test, ada.email), code });
    assert.equal(answer.status, 200, `${steps}`);
  }
});

testApp("concurrent requests with one code create one session", async (test) => {
  const ada = await twoStepPerson(test);
  const sessions = async () =>
    (await test.opened.database.read(sql`SELECT 1 FROM sessions WHERE user_id = ${ada.userId}`)).length;
  const before = await sessions();
  const token = await firstStep(test, ada.email);
  const code = codeOf(ada.secret, test.now());
  const one = await Promise.all([1, 2, 3].map((n) => secondStep(test, { token, code }, `10.8.0.${n}`)));
  assert.equal(one.filter(({ status }) => status === 200).length, 1);
  assert.equal(await sessions(), before + 1);

  // The same code for several sign-ins.
  test.advance(totpPeriodMs);
  const tokens = [await firstStep(test, ada.email), await firstStep(test, ada.email)];
  const next = codeOf(ada.secret, test.now());
  const two = await Promise.all(
    tokens.map((token, n) => secondStep(test, { token, code: next }, `10.8.1.${n}`)),
  );
  assert.equal(two.filter(({ status }) => status === 200).length, 1);
  assert.equal(await sessions(), before + 2);

  // Two different codes for one sign-in.
  test.advance(2 * totpPeriodMs);
  const last = await firstStep(test, ada.email);
  const codes = [codeOf(ada.secret, test.now()), ada.recoveryCodes[0] ?? ""];
  const three = await Promise.all(
    codes.map((code, n) => secondStep(test, { token: last, code }, `10.8.2.${n}`)),
  );
  assert.equal(three.filter(({ status }) => status === 200).length, 1);
  assert.equal(await sessions(), before + 3);
});

testApp("a recovery code works once, in any spelling, and the email says how many are left", async (test) => {
  const ada = await twoStepPerson(test);
  const [first = "", second = ""] = ada.recoveryCodes;
  const typed = ` ${first.toLowerCase().replaceAll("-", "").replaceAll("0", "o").replaceAll("1", "L")} `;
  const response = await secondStep(test, { token: await firstStep(test, ada.email), code: typed });
  assert.equal(response.status, 200, await response.clone().text());
  assert.match((await lastMail(test, ada.email)).text, /\b9\b/);
  assert.equal((await status(test, ada.cookie)).recoveryCodesLeft, 9);
  const token = await firstStep(test, ada.email);
  await assertError(await secondStep(test, { token, code: first }), 401, "invalid_code");
  const both = await Promise.all([
    secondStep(test, { token, code: second }),
    secondStep(test, { token: await firstStep(test, ada.email), code: second }),
  ]);
  assert.equal(both.filter(({ status }) => status === 200).length, 1);
  const kept = await test.opened.database.read(sql`SELECT * FROM recovery_codes`);
  const text = JSON.stringify(kept);
  for (const code of ada.recoveryCodes) {
    assert.ok(
      !text.includes(code) && !text.includes(code.replaceAll("-", "")),
    );
  }
});

testApp("new recovery codes replace the old ones, and don't work for another account", async (test) => {
  const ada = await twoStepPerson(test);
  const eve = await twoStepPerson(test, "Eve");
  const response = await test.send(`${account}/two-step/recovery-codes`, {
    method: "POST",
    cookie: ada.cookie,
  });
  const { recoveryCodes } = await response.json();
  assert.equal(recoveryCodes.length, 10);
  assert.match((await lastMail(test, ada.email)).subject, /recovery codes/i);
  const token = await firstStep(test, ada.email);
  for (
    const code of [ada.recoveryCodes[0] ?? "", eve.recoveryCodes[0] ?? "", codeOf(eve.secret, test.now())]
  ) {
    await assertError(await secondStep(test, { token, code }), 401, "invalid_code");
  }
  assert.equal((await secondStep(test, { token, code: recoveryCodes[0] })).status, 200);
});

testApp("turning off two-step sign-in deletes its codes, and the password alone signs in", async (test) => {
  const ada = await twoStepPerson(test);
  await reauthenticateWithCode(test, ada);
  const off = () => test.send(`${account}/two-step/totp`, { method: "DELETE", cookie: ada.cookie });
  assert.equal((await off()).status, 204);
  await assertError(await off(), 409, "two_step_state");
  await assertError(
    await test.send(`${account}/two-step/recovery-codes`, { method: "POST", cookie: ada.cookie }),
    409,
    "two_step_state",
  );
  for (const table of [sql`totp`, sql`recovery_codes`, sql`pending_sign_ins`]) {
    assert.deepEqual(await test.opened.database.read(sql`SELECT * FROM ${table}`), []);
  }
  const response = await test.send("/api/auth/sign-in", {
    json: { email: ada.email, password: "correct horse 9 battery" },
  });
  assert.equal((await response.json()).authenticated, true);
});

testApp(
  "every change of two-step sign-in requires an authentication in the last ten minutes",
  async (test) => {
    const ada = await twoStepPerson(test);
    const cookie = cookieOf(
      await secondStep(test, {
        token: await firstStep(test, ada.email),
        code: codeOf(ada.secret, test.now()),
      }),
    );
    const writes = [
      ["POST", "/two-step/totp"],
      ["POST", "/two-step/totp/confirm", { code: "123456" }],
      ["DELETE", "/two-step/totp"],
      ["POST", "/two-step/recovery-codes"],
      ["POST", "/passkeys/options"],
      ["PATCH", `/passkeys/pas_${"0".repeat(32)}`, { name: "x" }],
      ["DELETE", `/passkeys/pas_${"0".repeat(32)}`],
    ] as const;
    test.advance(10 * minuteMs);
    for (const [method, path, json] of writes) {
      const send = (more: Record<string, unknown>) =>
        test.send(`${account}${path}`, { method, ...(json === undefined ? {} : { json }), ...more });
      await assertError(await send({ cookie }), 403, "proof_required");
      await assertError(await send({}), 401, "unauthenticated");
      await assertError(
        await send({ cookie, headers: { origin: "https://evil.example" } }),
        403,
        "cross_site",
      );
    }
    assert.equal((await status(test, cookie)).totp.enabled, true);
    await reauthenticateWithCode(test, { cookie, secret: ada.secret });
    assert.equal((await test.send(`${account}/two-step/totp`, { method: "DELETE", cookie })).status, 204);
  },
);
