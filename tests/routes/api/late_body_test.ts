// A client has ten seconds to send its body after its session was checked. If the session ends in between, the request must
// not take effect. authorization/writes_test.ts ends sessions before every write of every route.
import assert from "node:assert/strict";
import { assertError, type TestApp, testApp } from "../../support/app/app.ts";
import { linkToken } from "../../support/people/links.ts";
import { signInAgain } from "../../support/people/people.ts";

const newPassword = "an entirely different 7 phrase";

/** Sends a request, calls a function when the body is read, and only then sends the body. */
function sendLate(
  test: TestApp,
  path: string,
  request: { method?: string | undefined; cookie: string; json: unknown; meanwhile: () => Promise<void> },
): Promise<Response> {
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await request.meanwhile();
      controller.enqueue(new TextEncoder().encode(JSON.stringify(request.json)));
      controller.close();
    },
  }, { highWaterMark: 0 });
  return test.send(path, {
    method: request.method ?? "POST",
    cookie: request.cookie,
    body,
    headers: { "content-type": "application/json" },
  });
}

testApp("a session ended by a password reset can't create a key", async (test) => {
  const squatter = await test.signUp();
  const response = await sendLate(test, "/api/portal/api-keys", {
    cookie: squatter.cookie,
    json: { name: "Back door" },
    async meanwhile() {
      const token = await linkToken(test, squatter, { purpose: "reset_password" });
      const json = { token, password: newPassword };
      assert.equal((await test.send("/api/auth/password/reset", { json })).status, 204);
    },
  });
  await assertError(response, 401, "unauthenticated");
  const owner = await signInAgain(test, squatter.email, newPassword);
  assert.deepEqual((await (await test.send("/api/portal/api-keys", { cookie: owner })).json()).apiKeys, []);
});
