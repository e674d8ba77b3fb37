// The hashing thread: it matches responses with requests, rejects too many of them, and is replaced after it failed.
import assert from "node:assert/strict";
import { newPasswordWorker, PasswordHasher } from "../../../services/access/password_hasher.ts";
import { testPassword } from "../../support/app/app.ts";
import { poll } from "../../support/runner/poll.ts";

/** A function that starts hashing threads, and how many have started and ended. */
function countedWorkers() {
  const counts = { started: 0, ended: 0 };
  const newWorker = () => {
    const worker = newPasswordWorker();
    const terminate = worker.terminate.bind(worker);
    worker.terminate = () => {
      counts.ended++;
      terminate();
    };
    counts.started++;
    return worker;
  };
  return { counts, newWorker };
}

Deno.test("concurrent requests each get the result of their own password", async () => {
  const hasher = new PasswordHasher(2);
  try {
    const passwords = ["correct horse battery", "another long password"];
    const hashes = await Promise.all(passwords.map((password) => hasher.hash(password)));
    const matches = await Promise.all(
      hashes.flatMap((phc) => passwords.map((password) => hasher.verify(phc, password))),
    );
    assert.deepEqual(matches, [true, false, false, true]);
    assert.equal(await hasher.verify(undefined, "correct horse battery"), false);
  } finally {
    hasher.close();
  }
});

Deno.test("a failed hashing thread rejects what it was doing, and the next password starts another", async () => {
  const script = 'onmessage = () => { throw new Error("out of memory"); };';
  const broken = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  let isBroken = true;
  const newWorker = () => isBroken ? new Worker(broken, { type: "module" }) : newPasswordWorker();
  const hasher = new PasswordHasher(2, { newWorker });
  try {
    const results = await Promise.allSettled([hasher.hash("a long password"), hasher.hash("another one")]);
    assert.deepEqual(results.map(({ status }) => status), ["rejected", "rejected"]);
    isBroken = false;
    assert(await hasher.verify(await hasher.hash("a long password"), "a long password"));
  } finally {
    hasher.close();
    URL.revokeObjectURL(broken);
  }
});

Deno.test("the hashing thread ends when it isn't needed, and the next password starts another", async () => {
  const { counts, newWorker } = countedWorkers();
  const hasher = new PasswordHasher(2, { newWorker, idleMs: 1 });
  try {
    for (let n = 0; n < 2; n++) {
      await Promise.all(["a long password", "another one"].map((password) => hasher.hash(password)));
      assert.equal(counts.started, n + 1);
      await poll(() => counts.ended === n + 1);
    }
  } finally {
    hasher.close();
  }
});

Deno.test("the hashing thread ends more and more rarely", async () => {
  const idleMs = 7_001;
  const delays: number[] = [];
  const { counts, newWorker } = countedWorkers();
  const startTimer = globalThis.setTimeout;
  // The timers of the hasher end immediately.
  globalThis.setTimeout = ((act: () => void, ms = 0) => {
    const isIdleTimer = ms > 0 && ms % idleMs === 0;
    if (isIdleTimer) delays.push(ms);
    return startTimer(act, isIdleTimer ? 0 : ms);
  }) as typeof startTimer;
  const hasher = new PasswordHasher(1, { newWorker, idleMs });
  try {
    for (let n = 1; n <= 3; n++) {
      await hasher.hash("a long password");
      await poll(() => counts.ended === n);
    }
    assert.deepEqual(delays, [idleMs, 2 * idleMs, 4 * idleMs]);
  } finally {
    globalThis.setTimeout = startTimer;
    hasher.close();
  }
});

Deno.test("the hasher rejects too many waiting requests, and hashes for unknown users too", async () => {
  const hasher = new PasswordHasher(1);
  const results = await Promise.allSettled(
    Array.from({ length: 40 }, () => hasher.verify(undefined, testPassword)),
  );
  const rejected = results.filter((result) => result.status === "rejected");
  assert(rejected.length > 0 && rejected.length < 40);
  assert(rejected.every(({ reason }) => reason.code === "unavailable"));
  assert.equal(await hasher.verify(undefined, testPassword), false);
  hasher.close();
});
