// Users: their API and their pages in the console. The page of one is in user_page.tsx.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { validationError } from "../../domain/errors.ts";
import { consolePageItemsMax } from "../../domain/limits.ts";
import type { OperatorUser } from "../../domain/console/user.ts";
import { isoTime } from "../../domain/time.ts";
import {
  disableUser,
  enableUser,
  endSessionsOfUser,
  getUser,
  type PasswordLink,
  readForOperator,
  sendPasswordReset,
} from "../../services/console/mod.ts";
import type { PageAction } from "../../views/components/actions_card.tsx";
import { ButtonLink } from "../../views/components/button.tsx";
import { ConfirmPage, type ConfirmPageProps } from "../../views/components/confirm_page.tsx";
import { RadioGroup } from "../../views/components/field.tsx";
import type { PageForm } from "../../views/components/form_page.tsx";
import { ItemTable } from "../../views/components/item_table.tsx";
import { ListPage } from "../../views/components/list_page.tsx";
import { DayTime, RelativeTime } from "../../views/components/relative_time.tsx";
import { LinkedName } from "../../views/components/table.tsx";
import type { PortalFrame } from "../../views/layout.tsx";
import { userHref, usersHref } from "../../views/components/links.ts";
import { ListFilters, listHref } from "../../views/components/list_filters.tsx";
import { nounRoutes } from "../api/noun_routes.ts";
import { operatorRoutes } from "../api/operator_routes.ts";
import type { App, AppContext, AppEnv, AppParts } from "../env.ts";
import { flashOf } from "../portal/form.ts";
import { mountFormPage, mountPage, type Pages, paramOf } from "../portal/noun_pages.ts";
import { choiceOf, type ConsoleActor, consolePages, searchOf } from "../portal/operator_page.ts";
import { type PortalParts, sendPage } from "../portal/page.ts";
import { deviceNames } from "../portal/device_name.ts";
import * as schemas from "./schemas/operator_users.ts";
import { UserBadges, userPage } from "./user_page.tsx";

const apiPath = "/api/operator/users";
const unlessOperator = "Tokens can't do this to operators.";

export function userRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = operatorRoutes(app, parts, { read: "users:read", write: "users:write" });
  const params = schemas.userParamsSchema;
  const noun = { path: apiPath, one: "user", many: "users", schema: schemas.operatorUserSchema } as const;
  const routes = nounRoutes(route, { ...noun, id: "{id}", params });

  routes.list(
    {
      operationId: "listUsers",
      summary: "List users",
      description: "Newest first. `search` finds parts of names and email addresses.",
      query: schemas.usersQuerySchema,
      errors: ["unavailable"],
    },
    ({ query }, actor, c) =>
      readForOperator(services, actor, { job: "readUserPage", ...query, signal: c.req.raw.signal }),
  );

  route({
    route: `GET ${apiPath}/{id}`,
    operationId: "getUser",
    summary: "Get a user",
    params,
    responses: { 200: { description: "The user.", schema: schemas.operatorUserDetailsSchema } },
  }, (_c, { params: { id } }) => getUser(services, id));

  routes.change({
    operationId: "changeUser",
    summary: "Disable or enable a user",
    description:
      "Disabling ends the user's sessions, emailed links and pending invitations immediately. Their API keys keep " +
      `working. ${unlessOperator}`,
    body: schemas.changeUserSchema,
    errors: ["forbidden"],
  }, async ({ params: { id }, body: { disabled } }, actor) => {
    const { user } = await getUser(services, id);
    if (disabled) await disableUser(services, actor, { id, revokeKeys: false });
    else await enableUser(services, actor, { id });
    const after = await getUser(services, id).catch(() => {
      // The change was made, even if nothing can be read now.
      const disabledAt = disabled ? user.disabledAt ?? isoTime(services.clock()) : null;
      return { user: { ...user, disabledAt, ...(disabled ? { lastSignInAt: null } : {}) } };
    });
    return after.user;
  });

  route({
    route: `POST ${apiPath}/{id}/reset-password`,
    operationId: "sendPasswordReset",
    summary: "Send a password reset link",
    description:
      "Emails the user a link to choose a new password. Earlier links stop working; sessions don't end until the " +
      `password is changed. Without a mail server, operator accounts get the link instead. ${unlessOperator}`,
    params,
    responses: { 200: { description: "The link was created.", schema: schemas.passwordResetSchema } },
    errors: ["forbidden", "mail_unavailable"],
  }, (_c, { params: { id } }, actor) => sendPasswordReset(services, actor, { id }));

  route({
    route: `DELETE ${apiPath}/{id}/sessions`,
    operationId: "endSessionsOfUser",
    summary: "End a user's sessions",
    description: `Signs the user out everywhere. ${unlessOperator}`,
    params,
    responses: { 204: { description: "The user has no sessions." } },
    errors: ["forbidden"],
  }, (_c, { params: { id } }, actor) => endSessionsOfUser(services, actor, { id }));
}

export function userPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const pages = consolePages(app, parts, "operator/users");

  mountPage(pages, usersHref, async (c, { actor, ...page }) => {
    const search = searchOf(c);
    const status = choiceOf(c, "status", ["active", "disabled"]) ?? "";
    const cursor = c.req.query("cursor") ?? "";
    const { users, nextCursor } = await readForOperator(services, actor, {
      job: "readUserPage",
      search: search || undefined,
      status: status || undefined,
      limit: consolePageItemsMax,
      cursor: cursor || undefined,
      signal: c.req.raw.signal,
    });
    const choices = [
      { value: "", label: "All" },
      { value: "active", label: "Active" },
      { value: "disabled", label: "Disabled" },
    ];
    const nextHref = nextCursor && listHref(usersHref, { search, status, cursor: nextCursor });
    return (
      <ListPage
        {...page}
        title="Users"
        text="Everyone with an account, in any organization."
        filters={
          <ListFilters
            action={usersHref}
            search={search}
            searches="Name, email or ID"
            menus={[{ label: "Status", name: "status", value: status, choices }]}
          />
        }
        card="Newest first"
        empty={users.length === 0 ? noUsers : null}
        links={[
          { href: cursor === "" ? null : listHref(usersHref, { search, status }), label: "First page" },
          { href: nextHref, label: "Next page" },
        ]}
      >
        <UserTable users={users} now={page.frame.now} />
      </ListPage>
    );
  });

  mountPage(pages, `${usersHref}/:id`, async (c, page) => {
    const flash = flashOf(c, flashes);
    return userPage({
      ...page,
      ...await readUser(parts, c),
      flash,
      link: null,
    });
  });
  actionPages(pages, parts);
}

const noUsers = {
  title: "No matching users",
  text: "Try another search.",
  children: <ButtonLink href={usersHref}>Show all</ButtonLink>,
};

const flashes = {
  "reset": "Email with a link to choose a new password sent.",
  "signed-out": "Signed out everywhere.",
  "disabled": "User disabled. They can't sign in.",
  "enabled": "User enabled. They can sign in again.",
};

/** Reads what the page of a user shows. */
async function readUser(parts: PortalParts, c: AppContext) {
  const { sessions, ...found } = await getUser(parts.services, paramOf(c, "id"));
  const { id, disabledAt } = found.user;
  const devices = await deviceNames(sessions.map(({ userAgent }) => userAgent));
  const actions = Object.entries(actionsOf(parts))
    .filter(([action]) => (action === "enable") === (disabledAt !== null))
    .map(([action, { title, submit = title, card }]) => (
      { title, ...card, href: `${userHref(id)}/${action}`, label: submit }
    ));
  return {
    ...found,
    actions,
    sessions: sessions.map((session, index) => ({ ...session, device: devices[index] ?? "" })),
  };
}

function UserTable({ users, now }: { users: readonly OperatorUser[]; now: number }) {
  return (
    <ItemTable
      label="Users"
      items={users}
      columns={[
        {
          title: "User",
          in: "title",
          cell: ({ id, name, email }) => <LinkedName href={userHref(id)} name={name} note={email} />,
        },
        { title: "Organizations", isOptional: true, cell: (user) => <OrganizationsText {...user} /> },
        {
          title: "Two-step sign-in",
          isOptional: true,
          cell: ({ twoStep }) => <span>{twoStep ? "On" : "Off"}</span>,
        },
        {
          title: "Created",
          isOptional: true,
          cell: ({ createdAt }) => <DayTime at={createdAt} now={now} />,
        },
        {
          title: "Last sign-in",
          isOptional: true,
          cell: ({ lastSignInAt }) => (
            <span>{lastSignInAt === null ? "–" : <RelativeTime at={lastSignInAt} now={now} />}</span>
          ),
        },
        {
          title: "Summary",
          in: "line",
          cell: (user) => (
            <span class="muted tiny">
              <OrganizationsText {...user} />
              {` · two-step sign-in ${user.twoStep ? "on" : "off"}`}
            </span>
          ),
        },
        { title: "Status", in: "state", cell: (user) => <UserBadges {...user} /> },
      ]}
    />
  );
}

function OrganizationsText({ organizations }: Pick<OperatorUser, "organizations">) {
  const [first, ...others] = organizations;
  if (first === undefined) return <span class="muted">None</span>;
  return (
    <span>
      <bdi>{first.name}</bdi>
      {others.length > 0 && <span class="muted">{` and ${others.length} more`}</span>}
    </span>
  );
}

/** Something to do with a user after a confirmation. `act` returns the name of the flash, or a link to show once. */
interface Action extends Pick<ConfirmPageProps, "title" | "heading" | "submit" | "tone"> {
  /** The action on the page of the user. */
  readonly card: Pick<PageAction, "text" | "tone"> & { readonly title?: string };
  readonly text: string | ((frame: PortalFrame, user: OperatorUser) => string);
  readonly act: (
    actor: ConsoleActor,
    user: { readonly id: string; readonly revokeKeys: boolean },
  ) => Promise<keyof typeof flashes | PasswordLink>;
}

/** Returns what can be done with a user, on pages of its own. */
function actionsOf({ services }: PortalParts): Readonly<Record<string, Action>> {
  return {
    "reset-password": {
      card: { text: "Sends a link to choose a new password. Sessions end when it is changed." },
      title: "Reset password",
      heading: "Reset the password of {name}?",
      text: resetText,
      submit: "Reset password",
      tone: "primary",
      act: async (actor, user) => (await sendPasswordReset(services, actor, user)).link ?? "reset",
    },
    "sign-out": {
      card: { text: "Ends all sessions, on every device and product." },
      title: "Sign out everywhere",
      heading: "Sign {name} out everywhere?",
      text: "All sessions end immediately, on every device and product. The user can sign in again.",
      submit: "Sign out",
      tone: "destroy",
      act: async (actor, user) => {
        await endSessionsOfUser(services, actor, user);
        return "signed-out";
      },
    },
    "disable": {
      card: {
        title: "Disable",
        text: "The user is signed out and can't sign in until you enable the account again.",
        tone: "plain-destroy",
      },
      title: "Disable user",
      heading: "Disable {name}?",
      text:
        "Sessions, emailed links and pending invitations end immediately, and the user can't sign in. You can enable the account again.",
      submit: "Disable user",
      tone: "destroy",
      act: async (actor, user) => {
        await disableUser(services, actor, user);
        return "disabled";
      },
    },
    "enable": {
      card: { title: "Enable", text: "The user can sign in again, as before." },
      title: "Enable user",
      heading: "Enable {name}?",
      text: "The user can sign in again. Ended sessions and invitations aren't restored.",
      submit: "Enable user",
      tone: "primary",
      act: async (actor, user) => {
        await enableUser(services, actor, user);
        return "enabled";
      },
    },
  };
}

function actionPages(pages: Pages<ConsoleActor>, parts: PortalParts): void {
  const { services } = parts;
  for (const [action, { text, act, card: _, ...words }] of Object.entries(actionsOf(parts))) {
    mountFormPage(pages, {
      path: `${usersHref}/:id/${action}`,
      async show(c, form) {
        const { user } = await getUser(services, paramOf(c, "id"));
        const facts = [
          { label: "Email", value: user.email },
          { label: "Organizations", value: user.organizations.map(({ name }) => name).join(", ") || "None" },
        ];
        return (
          <ConfirmPage
            {...form}
            {...words}
            name={user.name}
            text={typeof text === "string" ? text : text(form.frame, user)}
            facts={facts}
            back={{ href: userHref(user.id), label: user.name }}
          >
            {action === "disable" && <KeysField {...form} />}
          </ConfirmPage>
        );
      },
      async submit(c, actor, { keys = "keep" }) {
        if (keys !== "keep" && keys !== "revoke") {
          throw validationError([{ path: "keys", message: "Choose what should happen to the keys." }]);
        }
        // Read before: a link that was created is shown in any case.
        const found = await readUser(parts, c);
        const result = await act(actor, { id: paramOf(c, "id"), revokeKeys: keys === "revoke" });
        if (typeof result === "string") return `${userHref(paramOf(c, "id"))}?done=${result}`;
        const page = { frame: pages.frameOf(actor), place: pages.place, flash: null, link: result };
        return await sendPage(c, userPage({ ...page, ...found }));
      },
    });
  }
}

function KeysField({ field }: PageForm) {
  return (
    <RadioGroup
      label="What should happen to the API keys that this user created?"
      {...field("keys", "keep")}
      choices={[
        { value: "keep", label: "Keep", hint: "Requests with these keys keep working." },
        { value: "revoke", label: "Revoke", hint: "Requests with these keys will fail immediately." },
      ]}
    />
  );
}

function resetText({ sendsMail }: PortalFrame, { email }: OperatorUser): string {
  return sendsMail
    ? `We'll email a link to ${email}. Earlier links stop working; the current password works until it is changed.`
    : "No mail server is set up, so you'll get the link and pass it on. Earlier links stop working; the current password works until it is changed.";
}
