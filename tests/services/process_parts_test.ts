// Tests that the parts that exist once per process work the same on every HTTP thread.
import assert from "node:assert/strict";
import { addressFailuresMax } from "../../domain/limits.ts";
import { assertError, type TestApp, testApp, testPassword } from "../support/app/app.ts";
import { type OtherThread, withOtherThread } from "../support/app/other_thread.ts";
import { poll } from "../support/runner/poll.ts";

const peerAddress = "10.9.8.7";

function testThreads(name: string, run: (test: TestApp, other: OtherThread) => Promise<void>): void {
  testApp(name, (test) => withOtherThread(test, (other) => run(test, other)));
}

/** @returns The statuses of sign-ins from one address at the same time, in turn by each thread. */
async function signInTogether(
  threads: readonly Pick<TestApp, "send">[],
  sent: readonly { email: string; password: string }[],
): Promise<number[]> {
  const responses = await Promise.all(
    sent.map((json, n) => threads[n % threads.length]?.send("/api/auth/sign-in", { json, peerAddress })),
  );
  return responses.map((response) => response?.status ?? 0);
}

testThreads("passwords that one thread has hashed are accepted by the other", async (test, other) => {
  const json = { email: "ada@example.com", password: testPassword };
  assert.equal((await other.send("/api/auth/sign-up", { json: { ...json, name: "Ada" } })).status, 201);
  for (const { send } of [test, other]) {
    assert.equal((await send("/api/auth/sign-in", { json })).status, 200);
    const wrong = { ...json, password: "a wrong but long one" };
    await assertError(await send("/api/auth/sign-in", { json: wrong }), 401, "invalid_credentials");
    test.advance(10_000);
  }
});

testThreads("an address has its failures once, however its attempts are divided", async (test, other) => {
  const sent = Array.from({ length: 3 * addressFailuresMax }, (_, n) => ({
    email: `nobody${n}@example.com`,
    password: "a wrong but long one",
  }));
  const statuses = await signInTogether([test, other], sent);
  assert.equal(statuses.filter((status) => status === 401).length, addressFailuresMax);
  assert.equal(statuses.filter((status) => status === 429).length, 2 * addressFailuresMax);
  const { email } = await test.signUp();
  assert.deepEqual(
    await signInTogether([other, test], [1, 2].map(() => ({ email, password: testPassword }))),
    [
      429,
      429,
    ],
  );
});

testThreads("an attempt waits for undecided ones in another thread", async (test, { parts }) => {
  const { failures } = test.parts.attempts;
  for (let n = 0; n < addressFailuresMax; n++) {
    assert((await failures.begin(peerAddress)).isAllowed);
  }
  const waiting = [1, 2].map(() => parts.attempts.failures.begin(peerAddress));
  // A call that is answered after both were received.
  await parts.mailWorker.developmentMails();
  failures.end(peerAddress, { isFailure: false });
  assert((await waiting[0])?.isAllowed);
  for (let n = 0; n < addressFailuresMax; n++) {
    const thread = n === 0 ? parts.attempts.failures : failures;
    await thread.end(peerAddress, { isFailure: true });
  }
  assert.equal((await waiting[1])?.isAllowed, false);
});

testThreads("development emails are shown by every thread", async (test, other) => {
  const json = { name: "Ada", email: "ada@example.com", password: testPassword };
  assert.equal((await other.send("/api/auth/sign-up", { json })).status, 201);
  await test.mails();
  assert.match(await (await other.send("/dev/mail")).text(), /ada@example\.com/);
});

testThreads("a new email wakes the worker of the process", async (test, other) => {
  const ended = new AbortController();
  const running = test.parts.mailWorker.run(ended.signal);
  const json = { name: "Ada", email: "ada@example.com", password: testPassword };
  await other.send("/api/auth/sign-up", { json });
  await poll(async () => (await other.services.mail.developmentMails()).length === 1, 5_000);
  ended.abort();
  await running;
});
