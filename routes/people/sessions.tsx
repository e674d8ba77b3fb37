// A person's own sessions: their API, and the security page, which lists them below the ways to sign in.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import type { SessionActor } from "../../domain/access/actor.ts";
import { sessionsPerUserMax } from "../../domain/limits.ts";
import { countOf } from "../../domain/number_text.ts";
import {
  changePassword,
  endOtherSessions,
  endSession,
  getSignInMethods,
  getTwoStepStatus,
  listPasskeys,
  listSessions,
} from "../../services/people/mod.ts";
import { Badge } from "../../views/components/badge.tsx";
import { ButtonLink, SubmitButton } from "../../views/components/button.tsx";
import { Card } from "../../views/components/card.tsx";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { PasswordField, UsernameField } from "../../views/components/field.tsx";
import { Form } from "../../views/components/form.tsx";
import type { PageForm } from "../../views/components/form_page.tsx";
import { ItemTable } from "../../views/components/item_table.tsx";
import { securityLink } from "../../views/components/links.ts";
import { Notice } from "../../views/components/notice.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { DayTime, RelativeTime, TimeCell } from "../../views/components/relative_time.tsx";
import { actionsColumn, Name } from "../../views/components/table.tsx";
import { Unconfirmed } from "../../views/components/unconfirmed.tsx";
import { PortalPage } from "../../views/layout.tsx";
import { sessionRoutes } from "../api/endpoint.ts";
import { nounRoutes } from "../api/noun_routes.ts";
import { setSessionCookie } from "../cookies.ts";
import type { App, AppEnv, AppParts } from "../env.ts";
import { flashOf } from "../portal/form.ts";
import { mountFormPage, mountPageOfForms, ownPages, paramOf } from "../portal/noun_pages.ts";
import { type PortalParts, redirect, signedInRoutes } from "../portal/page.ts";
import { deviceNames } from "../portal/device_name.ts";
import { idParam } from "../schemas/common.ts";
import { sessionSchema } from "./schemas/people.ts";
import { IdentitiesCard } from "./identities.tsx";
import { passkeysPath } from "./passkeys.tsx";
import { codesLeft, isFewCodes, twoStepPath } from "./two_step.tsx";

export function ownSessionRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = sessionRoutes(app, parts, { tag: "Sign-in" });
  const routes = nounRoutes(route, {
    path: "/api/auth/sessions",
    one: "session",
    many: "sessions",
    schema: sessionSchema,
    id: "{id}",
    params: z.object({ id: idParam("ses", "The session's id.") }),
  });
  routes.listAll({
    operationId: "listSessions",
    summary: "List your sessions",
    description:
      `There are at most ${sessionsPerUserMax}: one more sign-in ends the least recently used session.`,
    response: "Your sessions, last used first.",
  }, (_input, actor) => listSessions(services, actor));
  routes.delete({
    operationId: "endSession",
    summary: "End one of your sessions",
    description: "Takes effect immediately. It may be the current session.",
    response: "Ended.",
  }, ({ params: { id } }, actor) => endSession(services, actor, id));
  route({
    route: "DELETE /api/auth/sessions",
    operationId: "endOtherSessions",
    summary: "End all of your other sessions",
    responses: { 204: { description: "Ended." } },
  }, (_c, _input, actor) => endOtherSessions(services, actor));
}

const { href: path } = securityLink;
const passwordPath = `${path}/password`;
const firstPasswordPath = `${path}/first-password`;
const flashes = {
  "password": "Password changed. You're signed out everywhere else.",
  "first-password": "Password set. You're signed out everywhere else.",
  "connected": "Connected. You can sign in with it from now on.",
  "disconnected": "Disconnected. It can no longer be used to sign in.",
  "ended": "Session ended.",
  "others-ended": "You're signed out everywhere else.",
};

export function securityPages(app: App, parts: PortalParts): void {
  const { config, services } = parts;
  const pages = ownPages(app, parts, { place: "security", back: securityLink });

  mountPageOfForms(app, pages, {
    path,
    async show(c, session, formOf) {
      const [methods, cards, sessions] = await Promise.all([
        getSignInMethods(services, session),
        cardsOf(parts, session),
        listedSessions(parts, session),
      ]);
      const form = formOf(passwordPath);
      const { frame, place } = form;
      return (
        <PortalPage title="Security" frame={frame} place={place}>
          <PageHead
            title="Security"
            text={`Manage how you sign in. If you don't recognize a session below, ${
              methods.hasPassword
                ? "change your password: that signs out every other session."
                : "sign out everywhere else."
            }`}
          />
          <Notice tone="done" text={flashOf(c, flashes)} />
          {methods.hasPassword ? <PasswordCard {...form} /> : <NoPasswordCard />}
          {cards}
          <IdentitiesCard {...methods} now={frame.now} />
          <SessionsCard sessions={sessions} now={frame.now} />
        </PortalPage>
      );
    },
    forms: {
      async [passwordPath](c, session, { currentPassword = "", newPassword = "" }) {
        const { token } = await changePassword(services, session, { currentPassword, newPassword });
        setSessionCookie(c, config, { token });
        return `${path}?done=password`;
      },
    },
  });

  mountFormPage(pages, {
    path: firstPasswordPath,
    async show(c, form, session) {
      const { hasPassword } = await getSignInMethods(services, session);
      return hasPassword ? redirect(c, path) : firstPasswordPage(form);
    },
    async submit(c, session, { newPassword = "" }) {
      const { token } = await changePassword(services, session, { newPassword });
      setSessionCookie(c, config, { token });
      return `${path}?done=first-password`;
    },
  });

  const { post } = signedInRoutes(app, parts);
  post(`${path}/sessions/:id/end`, async (c, session) => {
    await endSession(services, session, paramOf(c, "id"));
    return redirect(c, `${path}?done=ended`);
  });
  post(`${path}/sessions/end-others`, async (c, session) => {
    await endOtherSessions(services, session);
    return redirect(c, `${path}?done=others-ended`);
  });
}

function PasswordCard({ frame, action, error, fields }: PageForm) {
  return (
    <Card title="Password">
      <Form class="parts" action={action} error={error}>
        <UsernameField email={frame.session.user.email} />
        <div class="row two">
          <PasswordField label="Current password" name="currentPassword" error={fields["currentPassword"]} />
          <PasswordField label="New password" name="newPassword" isNew error={fields["newPassword"]} />
          <SubmitButton tone="plain">Change password</SubmitButton>
        </div>
        <p class="muted small">
          You stay signed in here and are signed out everywhere else.{" "}
          <a href="/forgot-password">Forgot your password?</a>
        </p>
      </Form>
      <Unconfirmed
        frame={frame}
        text="Until you confirm your email address, resetting a forgotten password also revokes your API keys and removes all other members from your organizations."
      />
    </Card>
  );
}

function NoPasswordCard() {
  return (
    <Card title="Password" aside={<Badge tone="off">None</Badge>}>
      <div class="between">
        <p class="muted">
          You sign in without a password. With one, you can also sign in with your email address.
        </p>
        <ButtonLink href={firstPasswordPath}>Set a password</ButtonLink>
      </div>
    </Card>
  );
}

function firstPasswordPage({ fields, ...form }: PageForm) {
  const { email } = form.frame.session.user;
  return (
    <ConfirmPage
      {...form}
      title="Set a password"
      text="You can then also sign in with your email address and this password. You stay signed in here and are signed out everywhere else."
      facts={[{ label: "Account", value: email }]}
      submit="Set password"
      tone="primary"
    >
      <UsernameField email={email} />
      <PasswordField label="Password" name="newPassword" isNew error={fields["newPassword"]} autofocus />
    </ConfirmPage>
  );
}

/** Returns the cards of passkeys and of two-step sign-in. */
async function cardsOf({ services }: PortalParts, session: SessionActor) {
  const [{ totp: { enabled: isOn }, recoveryCodesLeft: left }, passkeys] = await Promise.all([
    getTwoStepStatus(services, session),
    listPasskeys(services, session),
  ]);
  const count = passkeys.length;
  const lastUsedAt = passkeys.map((one) => one.lastUsedAt).filter((at) => at !== null).sort().at(-1);
  return (
    <div class="pair">
      <Card
        title="Passkeys"
        aside={count === 0
          ? <Badge tone="off">None</Badge>
          : <Badge tone="on">{countOf(count, "passkey")}</Badge>}
      >
        <p class="muted">
          Sign in with your fingerprint, your face, or a security key.
          {lastUsedAt !== undefined && (
            <>
              {" Last used "}
              <RelativeTime at={lastUsedAt} now={services.clock()} />.
            </>
          )}
        </p>
        <ButtonLink href={passkeysPath}>{count === 0 ? "Set up passkeys" : "Manage passkeys"}</ButtonLink>
      </Card>
      <Card title="Two-step sign-in" aside={<Badge tone={isOn ? "on" : "off"}>{isOn ? "On" : "Off"}</Badge>}>
        <p class="muted">
          After your password or provider, enter a code from an app on your phone.
          {isOn && isFewCodes(left) ? ` Recovery codes: ${codesLeft(left)}. Create new ones soon.` : ""}
        </p>
        <ButtonLink href={twoStepPath}>
          {isOn ? "Manage two-step sign-in" : "Set up two-step sign-in"}
        </ButtonLink>
      </Card>
    </div>
  );
}

type ListedSession = Awaited<ReturnType<typeof listedSessions>>[number];

/** Lists sessions with the names of their devices, the current one first. */
async function listedSessions({ services }: PortalParts, session: SessionActor) {
  const all = await listSessions(services, session);
  const sessions = [...all.filter(({ current }) => current), ...all.filter(({ current }) => !current)];
  const devices = await deviceNames(sessions.map(({ userAgent }) => userAgent));
  return sessions.map((one, index) => ({ ...one, device: devices[index] ?? "" }));
}

function SessionsCard({ sessions, now }: { sessions: readonly ListedSession[]; now: number }) {
  const title = "Where you're signed in";
  const aside = sessions.length < 2
    ? <p class="muted small">Only here</p>
    : (
      <Form action={`${path}/sessions/end-others`}>
        <SubmitButton tone="quiet-destroy">Sign out everywhere else</SubmitButton>
      </Form>
    );
  return (
    <Card title={title} aside={aside} flush>
      <ItemTable
        label={title}
        items={sessions}
        columns={[
          { title: "Device", in: "title", cell: ({ device }) => <Name text={device} /> },
          { title: "IP address", cell: ({ address }) => <code>{address}</code> },
          {
            title: "Last used",
            cell: ({ current, lastSeenAt }) =>
              current ? <span>Now</span> : <TimeCell at={lastSeenAt} now={now} />,
          },
          { title: "Signed in", cell: ({ createdAt }) => <DayTime at={createdAt} now={now} /> },
          {
            title: "Status",
            isUnseen: true,
            in: "state",
            cell: ({ current }) => current ? <Badge tone="on">This session</Badge> : null,
          },
          {
            ...actionsColumn,
            in: "actions",
            cell: ({ id, current, device, address }) =>
              current
                ? null
                : (
                  <Form class="actions-row" action={`${path}/sessions/${encodeURIComponent(id)}/end`}>
                    <SubmitButton tone="quiet-destroy" about={`${device}, ${address}`}>Sign out</SubmitButton>
                  </Form>
                ),
          },
        ]}
      />
    </Card>
  );
}
