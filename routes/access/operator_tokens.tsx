// Operator tokens: their shapes, their API, and their pages in the console. Only operator accounts may use them.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { apiKeyNameCharactersMax, operatorTokenAddressesMax, pageItemsDefault } from "../../domain/limits.ts";
import { operatorScopes, scopeMeanings, unknownScope } from "../../domain/access/operator_scope.ts";
import type { OperatorToken } from "../../domain/access/operator_token.ts";
import {
  createOperatorToken,
  getOperatorToken,
  listOperatorTokens,
  revokeOperatorToken,
} from "../../services/console/mod.ts";
import { Badge } from "../../views/components/badge.tsx";
import { NewSecret } from "../../views/components/code.tsx";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { ExpiryField, expiryValue } from "../../views/components/expiry_field.tsx";
import { CheckboxGroup, NameField, TextField } from "../../views/components/field.tsx";
import { FormPage, type PageForm } from "../../views/components/form_page.tsx";
import { ItemTable } from "../../views/components/item_table.tsx";
import { ListPage, type ListPageProps } from "../../views/components/list_page.tsx";
import { DayTime, RelativeTime, TimeCell } from "../../views/components/relative_time.tsx";
import { Name } from "../../views/components/table.tsx";
import { listHref } from "../../views/components/list_filters.tsx";
import { nounRoutes } from "../api/noun_routes.ts";
import { operatorRoutes } from "../api/operator_routes.ts";
import type { App, AppContext, AppEnv, AppParts } from "../env.ts";
import { expiryOf } from "../portal/expiry.ts";
import { flashOf, queryOf } from "../portal/form.ts";
import { mountFormPage, mountPage, paramOf } from "../portal/noun_pages.ts";
import { consolePages } from "../portal/operator_page.ts";
import { type PortalParts, sendPage } from "../portal/page.ts";
import { addressBlock, blocksFault, exampleBlock, typedBlocks } from "../schemas/address_blocks.ts";
import { check, checkTogether } from "../schemas/check.ts";
import {
  idOut,
  idParam,
  nameSchema,
  optionalEnd,
  personNameSchema,
  stringSchema,
  timeOut,
} from "../schemas/common.ts";
import { atMost, mustBe } from "../schemas/messages.ts";

const scopesDescription = [
  "What the token may do:",
  "",
  ...operatorScopes.map((scope) => `- \`${scope}\`: ${scopeMeanings[scope]}.`),
].join("\n");

const schema = z.object({
  id: idOut("opt", "The token's id."),
  name: stringSchema("The token's name.", "Billing"),
  tokenPrefix: stringSchema(
    "The first characters of the token, to tell it from others.",
    "service_operator_7Kq2mXfB…",
  ),
  scopes: z.array(z.enum(operatorScopes)).openapi({ description: scopesDescription }),
  addresses: z.array(z.string().openapi({ example: exampleBlock })).openapi({
    description: "The CIDR blocks from which the token may be used. Empty for any address.",
  }),
  createdAt: timeOut("When the token was created."),
  createdBy: z.object({ id: idOut("usr", "The user's id."), name: personNameSchema }).nullable().openapi({
    description:
      "The operator who created the token. Null if it was created on the command line, or the account was deleted.",
  }),
  lastUsedAt: timeOut("When the token was last used, updated at most once a minute.").nullable(),
  expiresAt: timeOut("When the token expires.").nullable(),
  revokedAt: timeOut("When the token was revoked.").nullable(),
  status: z.enum(["active", "revoked", "expired"]).openapi({
    description: "Only active tokens are accepted.",
  }),
}).openapi("OperatorToken");
const createdSchema = z.object({
  token: schema,
  fullToken: stringSchema(
    "The whole token. It appears only in this response.",
    "service_operator_7Kq2mXfB0example0example0example0",
  ),
}).openapi("CreatedOperatorToken");

const scope = z.enum(operatorScopes, {
  error: ({ input }) => typeof input === "string" ? unknownScope(input) : mustBe("string"),
});
const createSchema = z.strictObject({
  name: nameSchema("A name for the token", { charactersMax: apiKeyNameCharactersMax, example: "Billing" }),
  scopes: z.array(scope).min(1, "must have at least one scope.")
    .max(operatorScopes.length, atMost(operatorScopes.length, "scopes"))
    .openapi({ description: scopesDescription, example: ["usage:read"] }),
  addresses: z.array(addressBlock)
    .max(operatorTokenAddressesMax, atMost(operatorTokenAddressesMax, "addresses"))
    .optional().transform((given) => given ?? []).openapi({
      description: "The IP addresses or CIDR blocks from which the token may be used. By default any.",
      example: [exampleBlock],
    }),
  expiresAt: optionalEnd("When the token expires, in the future. By default it doesn't expire."),
}).openapi("CreateOperatorToken");

export function operatorTokenRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = operatorRoutes(app, parts, { read: "account" });
  const path = "/api/operator/tokens";
  const params = z.object({ id: idParam("opt", "The token's id.") });
  const routes = nounRoutes(route, { path, one: "token", many: "tokens", schema, id: "{id}", params });

  routes.list({
    operationId: "listOperatorTokens",
    summary: "List operator tokens",
    description: "Newest first, including inactive tokens.",
  }, ({ query }) => listOperatorTokens(services, query));
  route(
    {
      route: `POST ${path}`,
      operationId: "createOperatorToken",
      summary: "Create an operator token",
      body: createSchema,
      responses: {
        201: {
          description: "The new token. The whole token appears only in this response.",
          schema: createdSchema,
        },
      },
    },
    (_c, { body: { expiresAt = null, ...body } }, actor) =>
      createOperatorToken(services, actor, { ...body, expiresAt }),
  );
  route({
    route: `DELETE ${path}/{id}`,
    operationId: "revokeOperatorToken",
    summary: "Revoke an operator token",
    description: "Requests with the token fail immediately. Revoking a token again has no effect.",
    params,
    responses: { 200: { description: "The token.", schema: z.object({ token: schema }) } },
  }, async (_c, { params: { id } }, actor) => ({ token: await revokeOperatorToken(services, actor, id) }));
}

const path = "/operator/tokens";

export function operatorTokenPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const pages = consolePages(app, parts, "operator/tokens");
  const list = (c: AppContext) =>
    listOperatorTokens(services, { limit: pageItemsDefault, cursor: queryOf(c, "cursor") });

  mountPage(pages, path, async (c, page) => {
    const flash = flashOf(c, { revoked: "Token revoked. Requests with it fail." });
    return tokenList({ ...page, ...await list(c), flash });
  });

  mountFormPage(pages, {
    path: `${path}/new`,
    show: (_c, form) => tokenForm(form),
    async submit(c, actor, input) {
      const typed = {
        name: input["name"] ?? "",
        scopes: operatorScopes.filter((scope) => input[scope] !== undefined),
        addresses: typedBlocks(input["addresses"]),
      };
      const expiresAt = () => expiryOf(input, services.clock());
      const token = await checkTogether(() => check(createSchema, typed, "body"), expiresAt);
      const { token: created, fullToken } = await createOperatorToken(services, actor, {
        ...token,
        expiresAt: expiresAt(),
      });
      // The token can't be read again, so it is shown in any case. The response to a form is never cached.
      const found = await list(c).catch(() => ({ tokens: [created], nextCursor: null }));
      const { place } = pages;
      const secret = <NewSecret what="token" name={token.name} value={fullToken} />;
      const page = tokenList({ frame: pages.frameOf(actor), place, ...found, filters: secret });
      return await sendPage(c, page, 201);
    },
  });

  mountFormPage(pages, {
    path: `${path}/:id/revoke`,
    async show(c, form) {
      const { name, tokenPrefix, scopes, lastUsedAt } = await getOperatorToken(services, paramOf(c, "id"));
      return (
        <ConfirmPage
          {...form}
          title="Revoke token"
          heading="Revoke “{name}”?"
          name={name}
          text="Requests with this token will fail immediately. This can't be undone."
          facts={[
            { label: "Token", value: <code>{tokenPrefix}</code> },
            { label: "Scopes", value: scopes.join(", ") },
            { label: "Last used", value: <RelativeTime at={lastUsedAt} now={form.frame.now} /> },
          ]}
        />
      );
    },
    async submit(c, actor) {
      await revokeOperatorToken(services, actor, paramOf(c, "id"));
      return `${path}?done=revoked`;
    },
  });
}

function tokenList(
  { tokens, nextCursor, ...page }:
    & Pick<ListPageProps, "frame" | "place" | "flash" | "filters">
    & { tokens: readonly OperatorToken[]; nextCursor: string | null },
) {
  const { now } = page.frame;
  return (
    <ListPage
      {...page}
      title="Operator tokens"
      text="For programs that act on all organizations, such as billing. Each token is shown only once."
      add={{ href: `${path}/new`, label: "Create token" }}
      card="Newest first"
      empty={tokens.length === 0 ? { title: "No tokens yet", text: "Programs sign in with a token." } : null}
      links={[{ href: nextCursor && listHref(path, { cursor: nextCursor }), label: "Older tokens" }]}
    >
      <ItemTable
        label="Operator tokens"
        items={tokens}
        columns={[
          { title: "Token", in: "title", cell: (token) => <TokenName {...token} /> },
          { title: "Scopes", cell: ({ scopes }) => <span>{scopes.join(", ")}</span> },
          { title: "Addresses", cell: ({ addresses }) => <span>{addresses.join(", ") || "Any"}</span> },
          { title: "Last used", cell: ({ lastUsedAt }) => <TimeCell at={lastUsedAt} now={now} /> },
          {
            title: "Expires",
            cell: ({ status, expiresAt }) =>
              status === "revoked" ? <span>–</span> : <TimeCell at={expiresAt} now={now} />,
          },
          { title: "Status", in: "state", cell: (token) => <Status {...token} now={now} /> },
        ]}
        isOver={({ status }) => status !== "active"}
        actions={({ id, name, status }) =>
          status !== "active"
            ? []
            : [{ label: "Revoke", href: `${path}/${id}/revoke`, about: name, tone: "quiet-destroy" }]}
      />
    </ListPage>
  );
}

function TokenName({ name, tokenPrefix, createdBy }: OperatorToken) {
  return (
    <>
      <Name text={name} />
      <div class="prefix">
        <code class="pick">{tokenPrefix}</code>
      </div>
      <div class="muted tiny">{`by ${createdBy?.name ?? "the command line"}`}</div>
    </>
  );
}

function Status({ status, revokedAt, now }: OperatorToken & { now: number }) {
  if (status === "active") return <Badge tone="on">Active</Badge>;
  if (revokedAt === null) return <Badge tone="off">Expired</Badge>;
  return (
    <Badge tone="off">
      Revoked <DayTime at={revokedAt} now={now} />
    </Badge>
  );
}

const addressesCharactersMax = 2000;

function tokenForm(form: PageForm) {
  const { field, fields, input = {} } = form;
  return (
    <FormPage
      {...form}
      title="Create operator token"
      text="Give it only what its program needs. Scopes can't be changed later."
      submit="Create token"
      more={[
        <CheckboxGroup
          label="Scopes"
          name="scopes"
          value={new Set(operatorScopes.filter((scope) => input[scope] !== undefined))}
          choices={Object.entries(scopeMeanings).map(([value, hint]) => ({ value, label: value, hint }))}
          error={fields["scopes"]}
        />,
      ]}
    >
      <div class="row half">
        <NameField
          label="Name"
          {...field("name")}
          placeholder="For example: Billing"
          charactersMax={apiKeyNameCharactersMax}
          autofocus
        />
        <ExpiryField value={expiryValue(input)} fields={fields} now={form.frame.now} />
      </div>
      <TextField
        label="Allowed addresses (optional)"
        {...field("addresses")}
        placeholder="For example: 198.51.100.0/24 203.0.113.7"
        hint="IP addresses or CIDR blocks, separated by spaces. If empty, any address."
        error={blocksFault(fields)}
        maxlength={addressesCharactersMax}
      />
    </FormPage>
  );
}
