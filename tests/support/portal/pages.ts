// Loads pages and submits forms as a browser without JavaScript does.
import type { SendOptions, TestApp, TestPerson } from "../app/app.ts";
import { signIn } from "../../../services/people/sign_in.ts";

/** A response with its body. */
export interface TestPage {
  readonly status: number;
  readonly location: string | null;
  readonly html: string;
  readonly answer: Response;
}

/** Loads a page, or submits `form` to it. A `json` body calls an API. */
export async function openPage(
  test: TestApp,
  path: string,
  options: SendOptions & { person?: TestPerson } = {},
): Promise<TestPage> {
  const { person, ...more } = options;
  const response = await test.send(path, {
    ...person === undefined ? {} : { cookie: person.cookie },
    ...more,
  });
  const html = await response.clone().text();
  return { status: response.status, location: response.headers.get("location"), html, answer: response };
}

/** Signs in from another browser. @returns The cookie of the new session. */
export async function signInAgain(
  test: TestApp,
  person: TestPerson,
  options: { password: string; userAgent?: string; address?: string },
): Promise<string> {
  const client = {
    address: options.address ?? "10.9.9.9",
    userAgent: options.userAgent ?? "",
    requestId: null,
  };
  const input = { email: person.email, password: options.password };
  const result = await signIn(test.services, client, input);
  if (!("token" in result)) throw new Error("a second step is required");
  return `access_token=${result.token}`;
}
