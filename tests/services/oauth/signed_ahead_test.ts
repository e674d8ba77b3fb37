// The ID token of a code is signed while its tokens are written. What it says is true at the commit nevertheless.
import assert from "node:assert/strict";
import { type TestApp, testApp } from "../../support/app/app.ts";
import { issue, newClient, newMember } from "../../support/oauth/issued.ts";
import { run } from "../../support/people/scene.ts";

/** Runs a statement as soon as the next signature begins, before the tokens are written. @returns The number of signatures. */
function beforeCommit(test: TestApp, text: string, ...args: string[]): () => number {
  const { signingKeys } = test.services;
  const sign = signingKeys.sign.bind(signingKeys);
  let count = 0;
  signingKeys.sign = (claims, header) => {
    const changed = count++ === 0 ? run(test, text, ...args) : undefined;
    return Promise.resolve(changed).then(() => sign(claims, header));
  };
  return () => count;
}

const settings = { SECRETS_KEY: "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=" };
const claimsOf = (token: string) => JSON.parse(atob(token.split(".")[1] ?? ""));

testApp("signs once for a code", async (test) => {
  const [person, client] = [await newMember(test), await newClient(test)];
  const signatures = beforeCommit(test, "UPDATE users SET name = name");
  const { id_token } = await issue(test, { person, client });
  assert.equal(claimsOf(id_token).name, "Ada Lovelace");
  assert.equal(signatures(), 1);
}, settings);

testApp("an ID token has the claims at the commit, also if they change while it is signed", async (test) => {
  const [person, client] = [await newMember(test), await newClient(test)];
  const signatures = beforeCommit(test, "UPDATE users SET name = 'Grace Hopper'");
  const { id_token } = await issue(test, { person, client });
  assert.equal(claimsOf(id_token).name, "Grace Hopper");
  assert.equal(signatures(), 2);
}, settings);

testApp("a session that ends while the ID token is signed voids the code", async (test) => {
  const [person, client] = [await newMember(test), await newClient(test)];
  beforeCommit(test, "DELETE FROM sessions WHERE user_id = ?", person.userId);
  await assert.rejects(issue(test, { person, client }), /invalid_grant/);
}, settings);
