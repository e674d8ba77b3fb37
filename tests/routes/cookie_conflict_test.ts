// Cookies that came from somebody else: a planted one signs nobody out, and two people's sign nobody in.
import assert from "node:assert/strict";
import { assertError, testApp } from "../support/app.ts";
import { me } from "../support/people.ts";

testApp("a planted cookie signs nobody out, and two people's cookies sign nobody in", async (test) => {
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
  const answer = await test.send("/api/auth/me", { cookie: `${ada.cookie}; ${eve.cookie}` });
  assert.equal((await answer.json()).authenticated, false);
  // Both forms go, also where a sibling planted one for a part of the paths alone.
  const cleared = answer.headers.getSetCookie();
  for (const path of ["/", "/api", "/api/", "/api/auth", "/api/auth/me"]) {
    for (const domain of ["", "; Domain=.auth.example.com", "; Domain=.example.com"]) {
      const form = `access_token=; Max-Age=0${domain}; Path=${path}; HttpOnly; Secure; SameSite=Lax`;
      assert.ok(cleared.includes(form), `${form} in ${cleared.join("\n")}`);
    }
  }
  assert.match(test.logged(), /two users .*"req_\w+".*"127\.0\.0\.1"/);
  // Whatever stands in the address, as it stands there; and never more than a proxy passes on.
  const clearedAt = async (path: string) => {
    const answer = await test.send(path, { method: "DELETE", cookie: `${ada.cookie}; ${eve.cookie}` });
    await assertError(answer, 401, "unauthenticated");
    const size = [...answer.headers].reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0);
    assert.ok(size < 3_500, `${path} ${size}`);
    return answer.headers.getSetCookie().join("\n");
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
  // Sign-out ends all that came.
  await test.send("/api/auth/sign-out", { method: "POST", cookie: `${stale}; ${ada.cookie}` });
  assert.equal((await me(test, ada.cookie)).authenticated, false);
}, { BASE_URL: "https://auth.example.com", COOKIE_DOMAIN: ".example.com" });

testApp(
  "two people's cookies are told in the log once a minute for each address, and cleared each time",
  async (test) => {
    const cookie = `${(await test.signUp()).cookie}; ${(await test.signUp()).cookie}`;
    const ids: string[] = [];
    const send = async (peerAddress: string) => {
      const answer = await test.send("/api/auth/me", { cookie, peerAddress });
      assert.ok(answer.headers.getSetCookie().length > 0);
      ids.push(answer.headers.get("x-request-id") ?? "");
    };
    const told = () => test.logged().split("\n").filter((line) => line.includes("two users"));
    for (let i = 0; i < 5; i++) await send("192.0.2.1");
    assert.equal(told().length, 1);
    assert(told()[0]?.includes('"192.0.2.1"') && told()[0]?.includes(ids[0] ?? "none"));
    // Each network that somebody has at home is one address.
    await send("2001:db8::1");
    await send("2001:db8::2");
    assert.equal(told().length, 2);
    test.advance(59_999);
    await send("192.0.2.1");
    assert.equal(told().length, 2);
    test.advance(1);
    await send("192.0.2.1");
    assert.equal(told().length, 3);
  },
);
