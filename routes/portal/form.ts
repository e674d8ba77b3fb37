// Forms of the portal. A rejected form is shown again with its input and its errors.
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { OperatorActor, SessionActor } from "../../domain/access/actor.ts";
import { AppError, type ErrorCode } from "../../domain/errors.ts";
import type { Access } from "../../services/access/mod.ts";
import type { ShownForm } from "../../views/components/form.tsx";
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

/** With the code of the error that rejected the form, and the status of the response. */
export interface FormState extends ShownForm {
  readonly code?: ErrorCode;
  readonly status: ContentfulStatusCode;
}

export const newForm: FormState = { fields: {}, message: null, status: 200 };

interface SubmitOptions {
  readonly submit: () => Response | Promise<Response>;
  readonly showAgain: (state: FormState) => Response | Promise<Response>;
  /** The page to return to after the password, for verbs that require recent authentication. */
  readonly reauthenticateFor?: string | undefined;
  /** Ask even after a recent authentication, which isn't enough for this form. */
  readonly again?: boolean;
  /** Further errors after which to show the form again: the page itself explains them. */
  readonly explained?: ReadonlySet<ErrorCode> | undefined;
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
  readonly again?: boolean;
  readonly explained?: ReadonlySet<ErrorCode>;
  /** The fields at which errors are shown that don't name one, by their codes. */
  readonly fieldOf?: Partial<Record<ErrorCode, string>>;
}

type FormActor = SessionActor | OperatorActor | Viewer | null;

export function mountForm<Actor extends FormActor>(routes: PortalRoutes<Actor>, form: FormPage<Actor>): void {
  routes.get(form.path, (c, actor) => form.show(c, actor, newForm));
  mountTarget(routes, form);
}

/** Mounts the target of a form that is part of another page. */
export function mountTarget<Actor extends FormActor>(
  { post }: Pick<PortalRoutes<Actor>, "post">,
  { path, show, submit, reauthenticateFor, again = false, explained, fieldOf = {} }: FormPage<Actor>,
): void {
  post(path, async (c, actor) => {
    const input = await readForm(c, actor && "access" in actor ? actor.access.actor : actor);
    return await submitForm(c, {
      submit: () => submit(c, actor, input),
      showAgain: (state) => show(c, actor, { ...atField(state, fieldOf), input }),
      reauthenticateFor: reauthenticateFor?.(c, input),
      again,
      explained,
    });
  });
}

/** Submits a form, and shows it again if its input is rejected. @throws Errors that no input can fix. */
export async function submitForm(
  c: AppContext,
  { submit, showAgain, reauthenticateFor, again = false, explained }: SubmitOptions,
): Promise<Response> {
  try {
    return await submit();
  } catch (error) {
    if (reauthenticateFor !== undefined && needsReauthentication(error)) {
      return askToReauthenticate(c, reauthenticateFor, { again });
    }
    if (error instanceof AppError && explained?.has(error.code)) {
      return await showAgain({ ...newForm, code: error.code, status: error.status as ContentfulStatusCode });
    }
    return await showAgain(formError(c, error));
  }
}

function atField(form: FormState, fieldOf: Partial<Record<ErrorCode, string>>): FormState {
  const field = form.code && fieldOf[form.code];
  return field === undefined || form.message === null
    ? form
    : { ...form, message: null, fields: { [field]: form.message } };
}

/** Returns the text for `?done=`, which names the action that led to this page, or null. */
export function flashOf(c: AppContext, flashes: Readonly<Record<string, string>>): string | null {
  const done = queryOf(c, "done") ?? "";
  return Object.hasOwn(flashes, done) ? flashes[done] ?? null : null;
}

/**
 * Returns the text for `?done=` about an object. Its id is in the address instead of its name, so that links can't put
 * arbitrary text into a page.
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
