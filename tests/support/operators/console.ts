// Operators with a browser.
import { openPage, type TestPage } from "../portal/pages.ts";
import { type TestApp, testPassword, type TestPerson } from "../app/app.ts";
import { makeOperator } from "./operators.ts";

export { makeOperator };

/** Creates an operator who has just signed in with a second factor. */
export async function newOperator(test: TestApp, name = "Mara Rossi"): Promise<TestPerson> {
  const person = await test.signUp(name);
  await makeOperator(test, person);
  return person;
}

/** Confirms the password on the page to which the console redirected. @returns The page that follows. */
export async function confirmPassword(
  test: TestApp,
  person: TestPerson,
  page: TestPage,
): Promise<TestPage> {
  const returnTo = new URL(page.location ?? "", "http://x").searchParams.get("return_to") ?? "";
  return await openPage(test, "/portal/confirm-password", {
    person,
    form: { password: testPassword, return_to: returnTo },
  });
}
