// Who can be made an operator.
import assert from "node:assert/strict";
import type { OperatorActor } from "../../../domain/actor.ts";
import { AppError } from "../../../domain/errors.ts";
import { addOperator } from "../../../services/operator/operators.ts";
import { testApp } from "../../support/app/app.ts";
import { run } from "../../support/people/scene.ts";

const client = { address: "", userAgent: "gatehouse operator test", requestId: null };
const actor: OperatorActor = { type: "operator", client, credential: { kind: "commandLine" } };

testApp("an account whose address is not confirmed can't be made an operator", async (test) => {
  const { email, userId } = await test.signUp();
  const isUnconfirmed = (error: unknown) =>
    error instanceof AppError && error.code === "validation_failed" && /not confirmed/.test(error.message);
  await assert.rejects(addOperator(test.services, actor, email), isUnconfirmed);
  await run(test, "UPDATE users SET email_verified_at = ? WHERE id = ?", test.now(), userId);
  assert.equal((await addOperator(test.services, actor, email)).wasOperator, false);
}, { SMTP_URL: "smtp://mail.example.com", MAIL_FROM: "auth@example.com" });

testApp("without a mail server nobody can confirm an address, so it may be unconfirmed", async (test) => {
  const { email } = await test.signUp();
  assert.equal((await addOperator(test.services, actor, email)).wasOperator, false);
});
