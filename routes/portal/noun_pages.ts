// The pages of a noun, for any kind of viewer. A page that differs is mounted by hand next to them.
import type { OperatorActor, SessionActor } from "../../domain/actor.ts";
import { aboutOrganization, type FormErrors } from "../../views/components/form.tsx";
import type { PageLink } from "../../views/components/page_head.tsx";
import type { Page, Place, PortalFrame } from "../../views/layout.tsx";
import type { AppContext } from "../env.ts";
import { mountForm, type Viewer } from "./form.ts";
import { type PortalRoutes, redirect, sendPage } from "./page.ts";

/** Mounts the pages about a noun for one kind of viewer, such as operators. */
export interface Pages<Actor> extends PortalRoutes<Actor> {
  /** Mounts pages whose only purpose is a form. */
  readonly forms: PortalRoutes<Actor>;
  readonly frameOf: (actor: Actor) => PortalFrame;
  /** The entry of the pages in the sidebar. */
  readonly place: Place;
  /** Returns the link to the list, to which the other pages lead back. */
  readonly backOf: (actor: Actor) => PageLink;
}

/** Typed values, by the names of their fields. */
export type FormInput = Readonly<Record<string, string>>;

/** A form to show, with props of `FormPage` and `ConfirmPage`. */
export interface ShownForm {
  readonly frame: PortalFrame;
  readonly place: Place;
  readonly back: PageLink;
  /** The address of the page, which is the form's target. */
  readonly action: string;
  /** Fields that are sent but not shown, by name. */
  readonly hidden: Readonly<Record<string, string>>;
  /** Undefined until the form was sent and rejected. */
  readonly input: FormInput | undefined;
  /** Why it was rejected, if no field has the error. */
  readonly error: string | null;
  readonly fields: FormErrors["fields"];
  readonly field: (name: string) => TextProps;
}

interface TextProps {
  readonly name: string;
  readonly value: string;
  readonly error: string | undefined;
  readonly autocomplete: "off";
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

/** Mounts a page with a form, sent to the same path. `submit` returns the address to continue at, or a response. */
export function mountFormPage<Actor extends SessionActor | OperatorActor | Viewer>(
  { forms, frameOf, place, backOf }: Pages<Actor>,
  { path, show, submit }: {
    readonly path: string;
    readonly show: (c: AppContext, form: ShownForm, actor: Actor) => Page | Promise<Page>;
    readonly submit: (c: AppContext, actor: Actor, input: FormInput) => Promise<string | Response>;
  },
): void {
  mountForm(forms, {
    path,
    async show(c, actor, { input, fields, message, status }) {
      const frame = frameOf(actor);
      const back = backOf(actor);
      // Not the decoded path: in an external id, a browser would read a backslash as a slash.
      const { pathname: action } = new URL(c.req.url);
      const hidden = aboutOrganization(frame);
      const form = { frame, place, back, action, hidden, input, fields, error: message };
      const field = (name: string) => textProps({ input, fields }, name);
      return await sendPage(c, await show(c, { ...form, field }, actor), status);
    },
    async submit(c, actor, input) {
      const done = await submit(c, actor, input);
      return typeof done === "string" ? redirect(c, done) : done;
    },
  });
}

/** Returns a form with this input, such as what is stored. */
export function withInput(form: ShownForm, input: FormInput): ShownForm {
  return { ...form, input, field: (name) => textProps({ input, fields: form.fields }, name) };
}

function textProps({ input, fields }: Pick<ShownForm, "input" | "fields">, name: string): TextProps {
  return { name, value: input?.[name] ?? "", error: fields[name], autocomplete: "off" };
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
