// Operators with a browser.
import type { TestApp, TestPerson } from "../app/app.ts";
import { makeOperator } from "./operators.ts";

export { makeOperator };

/** Creates an operator who has just signed in with a second factor. */
export async function newOperator(test: TestApp, name = "Mara Rossi"): Promise<TestPerson> {
  const person = await test.signUp(name);
  await makeOperator(test, person);
  return person;
}
