// The pages of a noun, for any kind of viewer. A page that differs is mounted by hand next to them.
import type { OperatorActor, SessionActor } from "../../domain/access/actor.ts";
import { aboutOrganization, errorAt, type ShownForm } from "../../views/components/form.tsx";
import type { FormInput, PageForm } from "../../views/components/form_page.tsx";
import type { PageLink } from "../../views/components/page_head.tsx";
import type { Page, Place, PortalFrame } from "../../views/layout.tsx";
import type { App, AppContext } from "../env.ts";
import { type FormPage, type FormState, mountForm, mountTarget, newForm, type Viewer } from "./form.ts";
import {
  portalFrame,
  type PortalParts,
  type PortalRoutes,
  redirect,
  sendPage,
  sensitiveRoutes,
  signedInRoutes,
} from "./page.ts";

/** Mounts the pages about a noun for one kind of viewer, such as operators. */
export interface Pages<Actor> extends PortalRoutes<Actor> {
  /** Mounts pages whose only purpose is a form. */
  readonly forms: PortalRoutes<Actor>;
  /** The forms require a recent authentication, so they ask for another one if a verb rejects it. */
  readonly areSensitive?: true;
  readonly frameOf: (actor: Actor) => PortalFrame;
  /** The entry of the pages in the sidebar. */
  readonly place: Place;
  /** Returns the link to the list, to which the other pages lead back. */
  readonly backOf: (actor: Actor) => PageLink;
}

/** Mounts the pages about a noun of a signed-in person. @param options `back`: the link to the list. */
export function ownPages(
  app: App,
  parts: PortalParts,
  { place, back }: { place: Place; back: PageLink },
): Pages<SessionActor> {
  return {
    ...signedInRoutes(app, parts),
    forms: sensitiveRoutes(app, parts),
    areSensitive: true,
    frameOf: (session) => portalFrame(parts, session),
    place,
    backOf: () => back,
  };
}

export function paramOf(c: AppContext, name: string): string {
  return c.req.param(name) ?? "";
}

export function mountPage<Actor>(
  { get, frameOf, place }: Pages<Actor>,
  path: string,
  show: (c: AppContext, page: { frame: PortalFrame; place: Place; actor: Actor }) => Page | Promise<Page>,
): void {
  get(path, async (c, actor) => await sendPage(c, await show(c, { frame: frameOf(actor), place, actor })));
}

type Submit<Actor> = (c: AppContext, actor: Actor, input: FormInput) => Promise<string | Response>;
type FormActor = SessionActor | OperatorActor | Viewer;

/** Mounts a page with a form, sent to the same path. Both functions may return a response; `submit` also the address to continue at. */
export function mountFormPage<Actor extends FormActor>(
  pages: Pages<Actor>,
  { show, submit, ...page }: Pick<FormPage<Actor>, "path" | "reauthenticateFor" | "fieldOf"> & {
    readonly show: (
      c: AppContext,
      form: PageForm,
      actor: Actor,
    ) => Page | Response | Promise<Page | Response>;
    readonly submit: Submit<Actor>;
  },
): void {
  // Not the decoded path: in an external id, a browser would read a backslash as a slash.
  const ownPath = (c: AppContext) => new URL(c.req.url).pathname;
  mountForm(pages.forms, {
    ...pages.areSensitive && { reauthenticateFor: ownPath, again: true },
    ...page,
    async show(c, actor, state) {
      const shown = await show(c, shownForm(pages, actor, { ...state, action: ownPath(c) }), actor);
      return shown instanceof Response ? shown : await sendPage(c, shown, state.status);
    },
    submit: continuing(submit),
  });
}

/**
 * Mounts a page with several forms, each of which is sent to its own path. A rejected one is shown again on the page.
 *
 * @param page `show`: gets a function that returns the form of a path. `forms`: what each form does, by its path.
 */
export function mountPageOfForms<Actor extends FormActor>(
  app: App,
  pages: Pages<Actor>,
  { path, show, forms }: {
    readonly path: string;
    readonly show: (c: AppContext, actor: Actor, formOf: (action: string) => PageForm) => Promise<Page>;
    readonly forms: Readonly<Record<string, Submit<Actor>>>;
  },
): void {
  const showWith = (sent: string | null) => async (c: AppContext, actor: Actor, state: FormState) => {
    const formOf = (action: string) =>
      shownForm(pages, actor, { ...(action === sent ? state : newForm), action });
    return await sendPage(c, await show(c, actor, formOf), state.status);
  };
  pages.get(path, (c, actor) => showWith(null)(c, actor, newForm));
  for (const [action, submit] of Object.entries(forms)) {
    mountTarget(pages, {
      path: action,
      show: showWith(action),
      submit: continuing(submit),
      reauthenticateFor: () => path,
    });
    // For people who reload the page of a rejected form.
    app.get(action, (c) => redirect(c, path));
  }
}

/** Returns a form as it is shown at first, or again after it was rejected. */
export function shownForm<Actor extends FormActor>(
  { frameOf, place, backOf }: Pages<Actor>,
  actor: Actor,
  { action, input, fields, message }: ShownForm & { action: string },
): PageForm {
  const frame = frameOf(actor);
  const hidden = "access" in actor ? aboutOrganization(frame) : {};
  return withInput({ frame, place, back: backOf(actor), action, hidden, fields, error: message }, input);
}

function continuing<Actor>(submit: Submit<Actor>) {
  return async (c: AppContext, actor: Actor, input: FormInput) => {
    const done = await submit(c, actor, input);
    return typeof done === "string" ? redirect(c, done) : done;
  };
}

/** Returns a form with this input, such as stored values. */
export function withInput(form: Omit<PageForm, "input" | "field">, input: FormInput | undefined): PageForm {
  const { fields } = form;
  const field: PageForm["field"] = (name, first = "") => ({
    name,
    value: input?.[name] ?? first,
    ...errorAt(fields, name),
    autocomplete: "off",
  });
  return { ...form, input, field };
}

/** Reads the rows of a form, such as `metrics[0].slug`, without empty ones. `parts`: the fields of a row. */
export function rowsOf<Part extends string>(
  input: FormInput,
  { name, parts, rowsMax }: { name: string; parts: readonly Part[]; rowsMax: number },
): Record<Part, string>[] {
  const rows = Array.from({ length: rowsMax }, (_, index) =>
    Object.fromEntries(
      parts.map((part) => [part, input[`${name}[${index}].${part}`] ?? ""]),
    ) as Record<Part, string>);
  return rows.filter((row) => Object.values<string>(row).some((text) => text.trim() !== ""));
}

export function rowFields<Row extends { readonly [Part in keyof Row]: string | null }>(
  name: string,
  rows: readonly Row[],
): FormInput {
  return Object.fromEntries(
    rows.flatMap((row, index) =>
      Object.entries<string | null>(row).map(([part, value]) => [`${name}[${index}].${part}`, value ?? ""])
    ),
  );
}
