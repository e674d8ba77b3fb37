// Planted cookies: invalid ones are ignored, and cookies of two people are all rejected.
import assert from "node:assert/strict";
import { assertError, testApp } from "../support/app/app.ts";
import { me } from "../support/people/people.ts";

testApp("ignores planted invalid cookies, and rejects and clears cookies of two people", async (test) => {
  const ada = await test.signUp("Ada");
  const eve = await test.signUp("Eve");
  const stale = `access_token=${"s".repeat(43)}`;
  for (
    const cookie of [
      `${stale}; ${ada.cookie}`,
      `${ada.cookie}; ${stale}`,
      `a=b; access_token=x; ${ada.cookie}`,
    ]
  ) {
    assert.equal((await me(test, cookie)).user?.id, ada.userId);
  }
  const response = await test.send("/api/auth/me", { cookie: `${ada.cookie}; ${eve.cookie}` });
  assert.equal((await response.json()).authenticated, false);
  // Clears host-only and domain cookies, on every path where a sibling domain could have planted one.
  const cleared = response.headers.getSetCookie();
  for (const path of ["/", "/api", "/api/", "/api/auth", "/api/auth/me"]) {
    for (const domain of ["", "; Domain=.auth.example.com", "; Domain=.example.com"]) {
      const form = `access_token=; Max-Age=0${domain}; Path=${path}; HttpOnly; Secure; SameSite=Lax`;
      assert.ok(cleared.includes(form), `${form} in ${cleared.join("\n")}`);
    }
  }
  assert.match(test.logged(), /two users .*"req_\w+".*"127\.0\.0\.1"/);
  // Cookie paths repeat the request's path as it was sent, unless they would break the header or exceed a proxy's limit.
  const clearedAt = async (path: string) => {
    const response = await test.send(path, { method: "DELETE", cookie: `${ada.cookie}; ${eve.cookie}` });
    await assertError(response, 401, "unauthenticated");
    const size = [...response.headers].reduce(
      (sum, [name, value]) => sum + name.length + value.length + 4,
      0,
    );
    assert.ok(size < 3_500, `${path} ${size}`);
    return response.headers.getSetCookie().join("\n");
  };
  assert.match(
    await clearedAt("/api/portal/api-keys/%E2%82%AC"),
    /Domain=\.example\.com; Path=\/api\/portal\/api-keys\/%E2%82%AC;/,
  );
  for (const last of ["a;b", "y".repeat(4_000), "%0D%0Aa", "a%3Bb"]) {
    assert.match(
      await clearedAt(`/api/portal/api-keys/${last}`),
      /Domain=\.example\.com; Path=\/api\/portal;/,
    );
  }
  // Signing out ends the session of every cookie that was sent.
  await test.send("/api/auth/sign-out", { method: "POST", cookie: `${stale}; ${ada.cookie}` });
  assert.equal((await me(test, ada.cookie)).authenticated, false);
}, { BASE_URL: "https://auth.example.com", COOKIE_DOMAIN: ".example.com" });

testApp("logs cookies of two people once a minute for each address, and always clears them", async (test) => {
  const cookie = `${(await test.signUp()).cookie}; ${(await test.signUp()).cookie}`;
  const ids: string[] = [];
  const send = async (peerAddress: string) => {
    const response = await test.send("/api/auth/me", { cookie, peerAddress });
    assert.ok(response.headers.getSetCookie().length > 0);
    ids.push(response.headers.get("x-request-id") ?? "");
  };
  const logLines = () => test.logged().split("\n").filter((line) => line.includes("two users"));
  for (let i = 0; i < 5; i++) await send("192.0.2.1");
  assert.equal(logLines().length, 1);
  assert(logLines()[0]?.includes('"192.0.2.1"') && logLines()[0]?.includes(ids[0] ?? "none"));
  // An IPv6 /64 network counts as one address.
  await send("2001:db8::1");
  await send("2001:db8::2");
  assert.equal(logLines().length, 2);
  test.advance(59_999);
  await send("192.0.2.1");
  assert.equal(logLines().length, 2);
  test.advance(1);
  await send("192.0.2.1");
  assert.equal(logLines().length, 3);
});
