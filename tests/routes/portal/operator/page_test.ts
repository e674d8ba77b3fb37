// Who may open the operator console: operators with a recent second factor, nobody else.
import assert from "node:assert/strict";
import { operatorSignInMs } from "../../../../domain/limits.ts";
import { type TestApp, testApp } from "../../../support/app/app.ts";
import { makeOperator, newOperator } from "../../../support/operators/console.ts";
import { openPage } from "../../../support/portal/pages.ts";
import { turnOnTwoStep } from "../../../support/people/second_step.ts";
import { run } from "../../../support/people/scene.ts";

const page = (test: TestApp, path: string, cookie?: string) =>
  openPage(test, path, cookie === undefined ? {} : { cookie });
/** What two pages have in common that were not found. */
const common = (html: string, path: string) =>
  html.replaceAll(/req_[0-9a-f]{32}/g, "REQUEST").replaceAll(encodeURIComponent(path), "PATH");

testApp("for everyone else, the console looks like pages that don't exist", async (test) => {
  const ada = await test.signUp();
  const eve = await test.signUp();
  await run(test, "UPDATE sessions SET second_factor_at = ? WHERE user_id = ?", test.now(), eve.userId);
  for (const cookie of [ada.cookie, eve.cookie]) {
    const unknown = await page(test, "/operatorial", cookie);
    const found = await page(test, "/operator", cookie);
    assert.equal(found.status, 404);
    assert.equal(common(found.html, "/operator"), common(unknown.html, "/operatorial"));
    const headers = ({ answer }: typeof found) =>
      [...answer.headers].filter(([name]) => name !== "x-request-id");
    assert.deepEqual(headers(found), headers(unknown));
  }
});

testApp("people who are signed out return to the page after signing in", async (test) => {
  assert.equal((await page(test, "/operator?x=1")).location, "/sign-in?return_to=%2Foperator%3Fx%3D1");
  const { cookie, userId } = await newOperator(test);
  await run(test, "DELETE FROM sessions WHERE user_id = ?", userId);
  const ended = await page(test, "/operator/usage", cookie);
  assert.equal(ended.location, "/sign-in?return_to=%2Foperator%2Fusage&expired=1");
});

testApp("operators open the console, and find it in the portal", async (test) => {
  const mara = await newOperator(test);
  const { status, html } = await page(test, "/operator", mara.cookie);
  assert.equal(status, 200);
  assert.match(html, /<a href="\/operator" aria-current="page">/);
  assert.match((await page(test, "/portal/api-keys", mara.cookie)).html, /href="\/operator"/);
  const ada = await test.signUp();
  assert.doesNotMatch((await page(test, "/portal/api-keys", ada.cookie)).html, /href="\/operator/);
});

testApp("an unknown page of the console has the console's frame, for operators only", async (test) => {
  const mara = await newOperator(test);
  const { status, html } = await page(test, "/operator/nothing", mara.cookie);
  assert.equal(status, 404);
  assert.match(html, /class="side operator"/);
  assert.doesNotMatch((await page(test, "/operator/nothing")).html, /class="side operator"/);
});

testApp("the console asks operators without a second factor to set one up", async (test) => {
  const mara = await test.signUp();
  await run(test, "UPDATE users SET operator_since = ?", test.now());
  const { status, html } = await page(test, "/operator", mara.cookie);
  assert.equal(status, 403);
  assert.match(html, /Set up two-step sign-in/);
  assert.match(html, /href="\/portal\/account\/security"/);
});

testApp("operators whose second factor is too long ago, or far in the future, confirm it", async (test) => {
  const mara = await test.signUp();
  await turnOnTwoStep(test, mara.cookie);
  await makeOperator(test, mara);
  // A wrong clock noted the time.
  for (const [inTimeMs, moreMs] of [[-operatorSignInMs, -1], [2 * operatorSignInMs, 1]] as const) {
    test.advance(inTimeMs);
    assert.equal((await page(test, "/operator", mara.cookie)).status, 200);
    test.advance(moreMs);
    const { status, location } = await page(test, "/operator?x=1", mara.cookie);
    assert.equal(status, 303);
    assert.equal(location, "/portal/confirm-password?again=1&return_to=%2Foperator%3Fx%3D1");
    // The way back does not lead to the same question.
    assert.match((await page(test, location ?? "", mara.cookie)).html, /href="\/portal\/account"/);
  }
  assert.equal((await page(test, "/portal/api-keys", mara.cookie)).status, 200);
});
