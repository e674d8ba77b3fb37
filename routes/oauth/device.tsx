// Connecting devices: the endpoint that begins, and the pages on which a person enters and compares the code.
import type { SessionActor } from "../../domain/access/actor.ts";
import {
  authenticateClient,
  beginDevice,
  decideOnDevice,
  enterDeviceCode,
  type EnteredDevice,
  readClientCredentials,
} from "../../services/oauth/mod.ts";
import { scopeText } from "../../views/oauth/consent.tsx";
import {
  deviceCodePage,
  deviceDecisionPage,
  deviceDecisionPath,
  deviceDonePage,
  devicePath,
  deviceUnavailablePage,
  type ShownDevice,
} from "../../views/oauth/device.tsx";
import type { App, AppContext, AppParts } from "../env.ts";
import { deviceNames } from "../portal/device_name.ts";
import { type FormState, mountForm, mountTarget } from "../portal/form.ts";
import { gateFrame, type PortalParts, redirect, sendPage, signedInRoutes } from "../portal/page.ts";
import { mountProgramEndpoint } from "./program_endpoint.ts";

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
    const code = form.input?.["user_code"] ?? c.req.query("user_code")?.slice(0, 20) ?? "";
    return await sendPage(c, deviceCodePage({ frame, email, code, form }), form.status);
  };

  mountForm(routes, {
    path: devicePath,
    show,
    async submit(c, session, { user_code = "" }) {
      const entered = await enterDeviceCode(services, session, user_code);
      const problem = problemOf(session, entered);
      if (problem !== null) return await sendPage(c, deviceUnavailablePage({ frame, ...problem }), 403);
      const device = await shownDevice(entered, session);
      return await sendPage(c, deviceDecisionPage({ frame, email: session.user.email, device }));
    },
  });

  mountTarget(routes, {
    path: deviceDecisionPath,
    show,
    async submit(c, session, { user_code: code = "", decision, organization = "" }) {
      const isAllowed = decision === "allow";
      const { client } = await decideOnDevice(services, session, {
        code,
        isAllowed,
        organizationId: organization === "" ? null : organization,
      });
      return await sendPage(c, deviceDonePage({ frame, isAllowed, clientName: client.name }));
    },
  });
  app.get(deviceDecisionPath, (c) => redirect(c, devicePath));
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

async function shownDevice(
  { device, client, organizations, isElsewhere }: EnteredDevice,
  { organization }: SessionActor,
): Promise<ShownDevice> {
  const { userCode, address, userAgent, scopes, resourceName } = device;
  const [deviceName = ""] = await deviceNames([userAgent]);
  return {
    userCode,
    clientName: client.name,
    address,
    deviceName,
    scopes: scopes.split(" ").map(scopeText),
    resourceName,
    isElsewhere,
    organizations: organizations.map(({ organizationId, name }) => ({
      value: organizationId,
      label: name,
      isName: true,
    })),
    organizationId: organization?.organizationId ?? "",
  };
}
