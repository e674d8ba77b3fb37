// Connecting devices: the endpoint that begins, and the pages on which a person enters and compares the code.
import type { SessionActor } from "../../domain/access/actor.ts";
import { shownUserCode } from "../../domain/oauth/user_code.ts";
import { otherAccountPath } from "../../domain/people/return_to.ts";
import {
  authenticateClient,
  beginDevice,
  decideOnDevice,
  enterDeviceCode,
  type EnteredDevice,
  readClientCredentials,
} from "../../services/oauth/mod.ts";
import { ButtonLink, SubmitButton } from "../../views/components/button.tsx";
import { Facts } from "../../views/components/facts.tsx";
import { TextField } from "../../views/components/field.tsx";
import { type ShownForm, typed } from "../../views/components/form.tsx";
import { GateCard, GateHint } from "../../views/components/gate_card.tsx";
import { Notice } from "../../views/components/notice.tsx";
import type { GateFrame } from "../../views/layout.tsx";
import type { App, AppContext, AppParts } from "../env.ts";
import { deviceNames } from "../portal/device_name.ts";
import { type FormState, mountForm, mountTarget } from "../portal/form.ts";
import { gateFrame, type PortalParts, redirect, sendPage, signedInRoutes } from "../portal/page.ts";
import { EndPage, organizationParts, scopeText } from "./consent_pages.tsx";
import { mountProgramEndpoint } from "./program_endpoint.ts";

const path = "/device";
const decisionPath = "/device/decision";
/** Of the field; people may type spaces and hyphens. */
const codeCharactersMax = 20;

export function deviceRoute(app: App, parts: AppParts): void {
  const { services } = parts;
  mountProgramEndpoint(app, parts, {
    method: "POST",
    path: "/oauth/device",
    async handle(c, form) {
      const credentials = readClientCredentials(c.get("headers")["authorization"], form);
      const client = await authenticateClient(services, credentials, c.get("client"));
      return await beginDevice(services, client, { form, from: c.get("client") });
    },
  });
}

export function devicePages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const routes = signedInRoutes(app, parts);
  const frame = gateFrame(parts);
  const show = async (c: AppContext, { user: { email } }: SessionActor, form: FormState) => {
    // A link brings the code along, but it is compared all the same.
    const code = form.input?.["user_code"] ?? c.req.query("user_code")?.slice(0, codeCharactersMax) ?? "";
    return await sendPage(c, codePage({ frame, email, code, form }), form.status);
  };

  mountForm(routes, {
    path,
    show,
    async submit(c, session, { user_code = "" }) {
      const entered = await enterDeviceCode(services, session, user_code);
      const problem = problemOf(session, entered);
      if (problem !== null) return await sendPage(c, unavailablePage({ frame, ...problem }), 403);
      const [deviceName = ""] = await deviceNames([entered.device.userAgent]);
      return await sendPage(c, decisionPage({ frame, session, entered, deviceName }));
    },
  });

  mountTarget(routes, {
    path: decisionPath,
    show,
    async submit(c, session, { user_code: code = "", decision, organization = "" }) {
      const isAllowed = decision === "allow";
      const { client } = await decideOnDevice(services, session, {
        code,
        isAllowed,
        organizationId: organization === "" ? null : organization,
      });
      return await sendPage(
        c,
        isAllowed
          ? (
            <EndPage frame={frame} title="Device connected">
              <bdi>{client.name}</bdi> is connected. You can close this page and go back to your device.
            </EndPage>
          )
          : (
            <EndPage frame={frame} title="Request denied">
              The device gets no access. You can close this page.
            </EndPage>
          ),
      );
    },
  });
  app.get(decisionPath, (c) => redirect(c, path));
}

/** Returns why someone can't connect a device, and where to change that. */
function problemOf({ user, memberships }: SessionActor, { client, organizations }: EnteredDevice) {
  if (!user.emailVerified) {
    const text = "Confirm your email address first. Applications find people by it.";
    return { text, href: "/portal/account", label: "Go to your account" };
  }
  const isOpen = organizations.length > 0 || client.access === "everyone" && memberships.length === 0;
  return isOpen ? null : {
    text: `${client.name} isn't open to your account. Ask an administrator for access.`,
    href: "/portal",
    label: "Go to the portal",
  };
}

function codePage({ frame, email, code, form }: {
  frame: GateFrame;
  email: string;
  /** From a link; the page has it compared all the same. */
  code: string;
  form: ShownForm;
}) {
  return (
    <GateCard
      frame={frame}
      title="Connect a device"
      text="Enter the code that your device or command-line tool shows."
      action={path}
      error={form.message}
    >
      <TextField
        label="Code"
        name="user_code"
        {...typed(form, "user_code", code)}
        hint="Eight letters, such as WDJB-MJHT."
        autocomplete="off"
        required
        maxlength={codeCharactersMax}
        autofocus
      />
      <SubmitButton>Continue</SubmitButton>
      <SignedInAs email={email} code={code} />
    </GateCard>
  );
}

function decisionPage({ frame, session, entered, deviceName }: {
  frame: GateFrame;
  session: SessionActor;
  entered: EnteredDevice;
  deviceName: string;
}) {
  const { device: { userCode, address, scopes, resourceName }, client, organizations, isElsewhere } = entered;
  const organization = organizationParts("organization", { ...session, memberships: organizations });
  const code = shownUserCode(userCode);
  const facts = [
    { label: "Application", value: <bdi>{client.name}</bdi> },
    {
      label: "Requested from",
      value: (
        <>
          <bdi>{deviceName}</bdi> at {address === "" ? "an unknown address" : address}
        </>
      ),
    },
    ...(resourceName === null ? [] : [{ label: "Resource", value: <bdi>{resourceName}</bdi> }]),
    { label: "It gets", value: <ul>{scopes.split(" ").map((scope) => <li>{scopeText(scope)}</li>)}</ul> },
    ...organization.facts,
  ];
  return (
    <GateCard
      frame={frame}
      title="Does your device show this code?"
      text="Connect it only if you started this yourself, just now, on a device in front of you. If someone sent you the code or a link, deny it."
      action={decisionPath}
      hidden={{ user_code: userCode, ...organization.hidden }}
    >
      <p class="device-code">{code}</p>
      {isElsewhere && (
        <Notice
          tone="error"
          text="The device is on a different network than this browser. Deny the request unless you expect this."
        />
      )}
      <Facts facts={facts} />
      {organization.field}
      <button type="submit" class="button primary" name="decision" value="allow">Connect</button>
      <button type="submit" class="button plain" name="decision" value="deny">Deny</button>
      <SignedInAs email={session.user.email} code={code} />
    </GateCard>
  );
}

function SignedInAs({ email, code }: { email: string; code: string }) {
  const target = code === "" ? path : `${path}?user_code=${encodeURIComponent(code)}`;
  return (
    <p class="small muted">
      Signed in as <bdi>{email}</bdi>. <a href={otherAccountPath(target)}>Use another account</a>
    </p>
  );
}

/** For people who have to do something else first, such as confirming their address. */
function unavailablePage(
  { frame, text, href, label }: { frame: GateFrame; text: string; href: string; label: string },
) {
  return (
    <GateCard frame={frame} title="This device can't be connected" text={text}>
      <ButtonLink tone="primary" href={href}>{label}</ButtonLink>
      <GateHint text="Another code?" href={path} label="Enter it" />
    </GateCard>
  );
}
