// Forms of the portal. A rejected form is shown again with its input and what is wrong with it.
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { OperatorActor, SessionActor } from "../../domain/actor.ts";
import { AppError, type ErrorCode } from "../../domain/errors.ts";
import type { Access } from "../../services/access.ts";
import type { FormErrors } from "../../views/components/form.tsx";
import type { PortalFrame } from "../../views/layout.tsx";
import type { AppContext } from "../env.ts";
import { formError } from "./errors.ts";
import { askToReauthenticate, needsReauthentication, type PortalRoutes, readForm } from "./page.ts";

/** Someone who looks at an organization's pages: a member in the portal, or an operator in the console. */
export interface Viewer {
  readonly access: Access;
  /** Its `base` begins the addresses of the organization's pages. */
  readonly frame: PortalFrame;
}

/** A form as it is shown: at first, or after it was rejected. */
export interface FormState extends FormErrors {
  /** The input of a rejected form. */
  readonly input?: Readonly<Record<string, string>>;
  readonly code?: ErrorCode;
  readonly status: ContentfulStatusCode;
}

export const newForm: FormState = { fields: {}, message: null, status: 200 };

export interface SubmitOptions {
  readonly submit: () => Response | Promise<Response>;
  readonly showAgain: (state: FormState) => Response | Promise<Response>;
  /** The page to return to after the password, for verbs that require recent authentication. */
  readonly reauthenticateFor?: string | undefined;
  /** Further errors after which to show the form again: the page itself explains them. */
  readonly explained?: ReadonlySet<ErrorCode>;
}

/** A page with a form, whose target has the same path. */
export interface FormPage<Actor> {
  readonly path: string;
  readonly show: (c: AppContext, actor: Actor, state: FormState) => Response | Promise<Response>;
  readonly submit: (
    c: AppContext,
    session: Actor,
    input: Readonly<Record<string, string>>,
  ) => Response | Promise<Response>;
  /** See {@linkcode SubmitOptions}. */
  readonly reauthenticateFor?: (c: AppContext, input: Readonly<Record<string, string>>) => string;
}

export function mountForm<Actor extends SessionActor | OperatorActor | Viewer>(
  { get, post }: PortalRoutes<Actor>,
  { path, show, submit, reauthenticateFor }: FormPage<Actor>,
): void {
  get(path, (c, session) => show(c, session, newForm));
  post(path, async (c, session) => {
    const input = await readForm(c, "access" in session ? session.access.actor : session);
    return await submitForm(c, {
      submit: () => submit(c, session, input),
      showAgain: (state) => show(c, session, { ...state, input }),
      reauthenticateFor: reauthenticateFor?.(c, input),
    });
  });
}

/** Submits a form, and shows it again if its input is rejected. @throws Errors that no input can fix. */
export async function submitForm(
  c: AppContext,
  { submit, showAgain, reauthenticateFor, explained }: SubmitOptions,
): Promise<Response> {
  try {
    return await submit();
  } catch (error) {
    if (reauthenticateFor !== undefined && needsReauthentication(error)) {
      return askToReauthenticate(c, reauthenticateFor);
    }
    if (error instanceof AppError && explained?.has(error.code)) {
      return await showAgain({ ...newForm, code: error.code, status: error.status as ContentfulStatusCode });
    }
    return await showAgain(formError(c, error));
  }
}

/** Returns the text for `?done=`, which names the action that led to this page, or null. */
export function flashOf(c: AppContext, flashes: Readonly<Record<string, string>>): string | null {
  const done = queryOf(c, "done") ?? "";
  return Object.hasOwn(flashes, done) ? flashes[done] ?? null : null;
}

/**
 * Returns the text for `?done=` about an object. Its id is in the address instead of its name, so that links can't put
 * arbitrary
 * text into a page.
 *
 * @param flashes Texts about the object with the id; null without one.
 * @returns Null also if the viewer can't see the object.
 */
export async function flashAbout(
  c: AppContext,
  flashes: Readonly<Record<string, (id: string) => string | null | Promise<string | null>>>,
): Promise<string | null> {
  const done = queryOf(c, "done") ?? "";
  if (!Object.hasOwn(flashes, done)) return null;
  try {
    return await flashes[done]?.(queryOf(c, "id") ?? "") ?? null;
  } catch (error) {
    if (error instanceof AppError && ["not_found", "forbidden"].includes(error.code)) return null;
    throw error;
  }
}

/** Returns a query parameter of a page. Ignores those of a form's own address. */
export function queryOf(c: AppContext, name: string): string | undefined {
  return c.req.method === "GET" ? c.req.query(name) : undefined;
}
