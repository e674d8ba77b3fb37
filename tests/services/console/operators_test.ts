// Who can be made an operator.
import assert from "node:assert/strict";
import { AppError } from "../../../domain/errors.ts";
import { addOperator } from "../../../services/console/operators.ts";
import { testApp } from "../../support/app/app.ts";
import { commandLineActor } from "../../support/operators/operators.ts";
import { run } from "../../support/people/scene.ts";

testApp("an account whose address is not confirmed can't be made an operator", async (test) => {
  const { email, userId } = await test.signUp();
  const isUnconfirmed = (error: unknown) =>
    error instanceof AppError && error.code === "validation_failed" && /not confirmed/.test(error.message);
  await assert.rejects(addOperator(test.services, commandLineActor, email), isUnconfirmed);
  await run(test, "UPDATE users SET email_verified_at = ? WHERE id = ?", test.now(), userId);
  assert.equal((await addOperator(test.services, commandLineActor, email)).wasOperator, false);
}, { SMTP_URL: "smtp://mail.example.com", MAIL_FROM: "auth@example.com" });

testApp("without a mail server nobody can confirm an address, so it may be unconfirmed", async (test) => {
  const { email } = await test.signUp();
  assert.equal((await addOperator(test.services, commandLineActor, email)).wasOperator, false);
});
