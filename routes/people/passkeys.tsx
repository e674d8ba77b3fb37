// A person's own passkeys: their shapes, their API, and their pages. Other origins can't call it.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import type { SessionActor } from "../../domain/access/actor.ts";
import { validationError } from "../../domain/errors.ts";
import type { Passkey } from "../../domain/people/passkey.ts";
import {
  addPasskey,
  beginPasskey,
  getPasskey,
  listPasskeys,
  removePasskey,
  renamePasskey,
} from "../../services/people/mod.ts";
import { Badge } from "../../views/components/badge.tsx";
import { Card } from "../../views/components/card.tsx";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { NameField } from "../../views/components/field.tsx";
import type { PageForm } from "../../views/components/form_page.tsx";
import { ItemTable } from "../../views/components/item_table.tsx";
import { ListPage } from "../../views/components/list_page.tsx";
import { securityLink } from "../../views/components/links.ts";
import { Notice } from "../../views/components/notice.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { DayTime, TimeCell } from "../../views/components/relative_time.tsx";
import { Name } from "../../views/components/table.tsx";
import { PortalPage } from "../../views/layout.tsx";
import { PasskeyForm, PasskeysMissing } from "../../views/people/passkey_form.tsx";
import { sessionRoutes } from "../api/endpoint.ts";
import { nounRoutes } from "../api/noun_routes.ts";
import type { App, AppContext, AppEnv, AppParts } from "../env.ts";
import { flashOf } from "../portal/form.ts";
import { mountFormPage, mountPage, ownPages, paramOf } from "../portal/noun_pages.ts";
import type { PortalParts } from "../portal/page.ts";
import { check } from "../schemas/check.ts";
import { idOut, idParam, nameSchema, recentWords, stringSchema, timeOut } from "../schemas/common.ts";
import { passkeyOptionsSchema, passkeyRegistrationSchema } from "./schemas/two_step.ts";

export const passkeySchema = z.object({
  id: idOut("pas", "The passkey's id."),
  name: stringSchema("The passkey's name.", "My phone"),
  otherHost: stringSchema(
    "The host that the passkey works at, if the service has moved to another one since. It can't be used anymore.",
    "old.example.com",
  ).nullable(),
  createdAt: timeOut("When the passkey was added."),
  lastUsedAt: timeOut("When the passkey was last used to sign in.").nullable(),
}).openapi("Passkey");
const name = nameSchema("A name for the passkey", { example: "My phone" });
const renameSchema = z.strictObject({ name }).openapi("PasskeyName");
const addSchema = z.strictObject({ name, response: passkeyRegistrationSchema }).openapi("AddPasskey");

export function passkeyRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = sessionRoutes(app, parts, { tag: "Account" });
  const routes = nounRoutes(route, {
    path: "/api/portal/account/passkeys",
    one: "passkey",
    many: "passkeys",
    schema: passkeySchema,
    id: "{id}",
    params: z.object({ id: idParam("pas", "The passkey's id.") }),
  });
  routes.listAll({
    operationId: "listPasskeys",
    summary: "List your passkeys",
    response: "Your passkeys, oldest first.",
  }, (_input, actor) => listPasskeys(services, actor));
  route({
    route: "POST /api/portal/account/passkeys/options",
    operationId: "beginPasskey",
    summary: "Start adding a passkey",
    description: `${recentWords} The challenge works once, for 5 minutes.`,
    responses: { 200: { description: "The options for the browser.", schema: passkeyOptionsSchema } },
    errors: ["proof_required", "second_factor_required", "limit_reached"],
  }, async (_c, _input, actor) => ({ options: await beginPasskey(services, actor) }));
  routes.create({
    operationId: "addPasskey",
    summary: "Add the passkey that the browser created",
    description: recentWords,
    body: addSchema,
    response: "Added.",
    errors: ["proof_required", "second_factor_required", "limit_reached", "two_step_state"],
  }, ({ body: { name, response } }, actor) => addPasskey(services, actor, { name, answer: response }));
  routes.change({
    operationId: "renamePasskey",
    summary: "Rename a passkey",
    description: recentWords,
    body: renameSchema,
    response: "Renamed.",
    errors: ["proof_required"],
  }, ({ params: { id }, body: { name } }, actor) => renamePasskey(services, actor, { id, name }));
  routes.delete({
    operationId: "removePasskey",
    summary: "Remove a passkey",
    description: `${recentWords} It stops working immediately.`,
    response: "Removed.",
    errors: ["proof_required", "second_factor_required", "last_sign_in_method"],
  }, ({ params: { id } }, actor) => removePasskey(services, actor, id));
}

export const passkeysPath = "/portal/account/passkeys";
const flashes = {
  added: "Passkey added. You can sign in with it from now on.",
  renamed: "Passkey renamed.",
  removed: "Passkey removed. It can no longer be used to sign in.",
};

export function passkeyPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const back = { href: passkeysPath, label: "Passkeys" };
  const pages = ownPages(app, parts, { place: "security", back });
  const find = (c: AppContext, session: SessionActor) => getPasskey(services, session, paramOf(c, "id"));

  mountPage(pages, passkeysPath, async (c, { actor, ...page }) => {
    const passkeys = await listPasskeys(services, actor);
    return (
      <ListPage
        {...page}
        back={securityLink}
        title="Passkeys"
        text="Sign in with your fingerprint, your face, or a security key. Passkeys replace passwords and codes, and are phishing-resistant."
        flash={flashOf(c, flashes)}
        add={{ href: `${passkeysPath}/new`, label: "Add a passkey" }}
        card="Your passkeys"
        empty={passkeys.length === 0 ? noPasskeys : null}
        links={[]}
      >
        <PasskeyTable passkeys={passkeys} now={page.frame.now} />
      </ListPage>
    );
  });

  mountFormPage(pages, {
    path: `${passkeysPath}/new`,
    show: (_c, form) => newPasskeyPage(form),
    async submit(_c, session, { name: value = "", response }) {
      const { name } = check(renameSchema, { name: value }, "body");
      await addPasskey(services, session, { name, answer: parseRegistration(response) });
      return `${passkeysPath}?done=added`;
    },
  });

  mountFormPage(pages, {
    path: `${passkeysPath}/:id/rename`,
    async show(c, { field, ...form }, session) {
      const passkey = await find(c, session);
      return (
        <ConfirmPage
          {...form}
          {...about(passkey, form)}
          title="Rename a passkey"
          heading="Rename “{name}”"
          text="Only the name here changes. Your device keeps its own name for the passkey."
          submit="Rename passkey"
          tone="primary"
        >
          <NameField label="New name" {...field("name", passkey.name)} autofocus />
        </ConfirmPage>
      );
    },
    async submit(c, session, input) {
      const { id } = await find(c, session);
      const { name } = check(renameSchema, { name: input["name"] ?? "" }, "body");
      await renamePasskey(services, session, { id, name });
      return `${passkeysPath}?done=renamed`;
    },
  });

  mountFormPage(pages, {
    path: `${passkeysPath}/:id/remove`,
    show: async (c, form, session) => (
      <ConfirmPage
        {...form}
        {...about(await find(c, session), form)}
        title="Remove a passkey"
        heading="Remove “{name}”?"
        text="You can no longer sign in with it. Also delete it on your device, which may keep offering it. This can't be undone."
        submit="Remove passkey"
      />
    ),
    async submit(c, session) {
      await removePasskey(services, session, paramOf(c, "id"));
      return `${passkeysPath}?done=removed`;
    },
  });
}

const noPasskeys = {
  title: "No passkeys yet",
  text: "Add one for each device, or one that your devices share.",
};

function PasskeyTable({ passkeys, now }: { passkeys: readonly Passkey[]; now: number }) {
  const hrefOf = (id: string, page: string) => `${passkeysPath}/${encodeURIComponent(id)}/${page}`;
  return (
    <ItemTable
      label="Passkeys"
      items={passkeys}
      columns={[
        { title: "Name", in: "title", cell: ({ name }) => <Name text={name} /> },
        { title: "Added", cell: ({ createdAt }) => <DayTime at={createdAt} now={now} /> },
        {
          title: "Last used",
          cell: ({ otherHost, lastUsedAt }) =>
            otherHost === null
              ? <TimeCell at={lastUsedAt} now={now} />
              : <Badge tone="soon">Only for {otherHost}</Badge>,
        },
      ]}
      actions={({ id, name }) => [
        { label: "Rename", href: hrefOf(id, "rename"), about: name },
        { label: "Remove", href: hrefOf(id, "remove"), about: name, tone: "quiet-destroy" },
      ]}
    />
  );
}

function about({ name, createdAt, lastUsedAt }: Passkey, { frame: { now } }: Pick<PageForm, "frame">) {
  return {
    name,
    facts: [
      { label: "Added", value: <DayTime at={createdAt} now={now} /> },
      { label: "Last used", value: <TimeCell at={lastUsedAt} now={now} /> },
    ],
  };
}

/** Its form needs scripts, which ask the browser for the passkey. */
function newPasskeyPage({ frame, place, back, action, error, fields, field }: PageForm) {
  return (
    <PortalPage title="Add a passkey" frame={frame} place={place}>
      <div class="ask">
        <PageHead
          back={back}
          title="Add a passkey"
          text="Enter a name that you'll recognize. Your browser then asks where to save the passkey."
        />
        <Notice tone="error" text={fields["response"] ?? error} />
        <Card title="New passkey">
          <PasskeyForm
            assets={frame.assets}
            ceremony="create"
            options="/api/portal/account/passkeys/options"
            action={action}
            reauthenticate={`/portal/confirm-password?return_to=${encodeURIComponent(action)}`}
            tone="primary"
            submit="Add passkey"
          >
            <NameField label="Name" {...field("name")} placeholder="Laptop" />
          </PasskeyForm>
          <PasskeysMissing />
        </Card>
      </div>
    </PortalPage>
  );
}

/** @throws {AppError} `validation_failed` if a browser can't have sent this. */
function parseRegistration(text: string | undefined) {
  try {
    return check(passkeyRegistrationSchema, JSON.parse(text ?? ""), "body");
  } catch {
    const message = "Your browser's response couldn't be read. Try again.";
    throw validationError([{ path: "response", message }]);
  }
}
