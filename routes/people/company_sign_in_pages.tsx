// The pages of an organization's single sign-on, for its owners; and the page of the console, where operators can stop requiring it.
import { notFoundError } from "../../domain/errors.ts";
import {
  type CompanySignIn,
  domainCharactersMax,
  type ProviderTest,
} from "../../domain/people/company_sign_in.ts";
import {
  clientIdCharactersMax,
  clientSecretCharactersMax,
  issuerCharactersMax,
} from "../../domain/people/provider_metadata.ts";
import { type Access, operatorAccess } from "../../services/access/mod.ts";
import { companyDomains, companySignIn } from "../../services/people/mod.ts";
import { ButtonLink } from "../../views/components/button.tsx";
import { ConfirmPage, type ConfirmPageProps } from "../../views/components/confirm_page.tsx";
import { Facts } from "../../views/components/facts.tsx";
import { SelectField, TextField } from "../../views/components/field.tsx";
import { FormPage, type PageForm } from "../../views/components/form_page.tsx";
import { organizationHref, organizationsHref } from "../../views/components/links.ts";
import { PageHead } from "../../views/components/page_head.tsx";
import { type PortalFrame, PortalPage } from "../../views/layout.tsx";
import {
  companyDomainHref,
  companySignInLink,
  companySignInPage,
  companySignInPath as path,
  providerFacts,
} from "../../views/people/company_sign_in.tsx";
import type { App, AppContext } from "../env.ts";
import { flashOf } from "../portal/form.ts";
import { mountFormPage, type Pages, paramOf } from "../portal/noun_pages.ts";
import { consolePages } from "../portal/operator_page.ts";
import { type PortalParts, sendPage } from "../portal/page.ts";
import { memberPages, type MemberViewer } from "../portal/viewer.ts";
import { check, checkTogether } from "../schemas/check.ts";
import { companyDomainSchema, companyProviderSchema } from "./company_sign_in.ts";
import { goToProvider } from "./go_to_provider.tsx";
import { mountOwnerForm, ownerPages } from "./owner_pages.ts";

const flashes = {
  saved: "Provider saved. Test it next.",
  added: "Domain added. Add its TXT record in DNS, then verify it.",
  verified: "Domain verified.",
  "domain-removed": "Domain removed.",
  require: "Single sign-on is now required.",
  stop: "Single sign-on is no longer required.",
  remove: "Provider removed.",
};

export function companySignInPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  memberPages(app, parts).get(path, async (c, { access, frame }) => {
    const sso = await companySignIn.getCompanySignIn(services, access);
    return await sendPage(c, companySignInPage(frame, { sso, flash: flashOf(c, flashes) }));
  });
  const pages = ownerPages(app, parts, companySignInLink);
  providerForms(pages, parts);
  domainForms(pages, parts);
  operatorForms(app, parts);
}

function providerForms(pages: Pages<MemberViewer>, parts: PortalParts): void {
  const { services, config } = parts;
  const { href } = companySignInLink;
  mountOwnerForm(pages, parts, {
    path: `${path}/edit`,
    async show(_c, form, { access }) {
      const sso = await companySignIn.getCompanySignIn(services, access);
      return providerForm(form, sso, config.sessionMaxDays);
    },
    async submit(
      _c,
      { access },
      { issuer = "", clientId = "", clientSecret, role = "", sessionMaxDays = "" },
    ) {
      const { provider } = await companySignIn.getCompanySignIn(services, access);
      const given = {
        issuer,
        clientId,
        ...clientSecret ? { clientSecret } : {},
        role,
        // Other settings than tested ones can't be required, so saving them says so.
        enforced: provider?.enforced ?? false,
        sessionMaxDays: sessionMaxDays.trim() === "" ? null : Number(sessionMaxDays),
      };
      const checked = await checkTogether(
        () => check(companyProviderSchema, given, "body"),
        () => companySignIn.checkCompanyProvider(services, access, { before: provider, input: given }),
      );
      await companySignIn.putCompanyProvider(services, access, checked);
      return `${href}?done=saved`;
    },
  });
  for (const action of ["test", "require", "stop", "remove"] as const) {
    mountOwnerForm(pages, parts, {
      path: `${path}/${action}`,
      show: async (_c, form, { access }) => confirmAction(action, form, await requireProvider(parts, access)),
      async submit(c, { access }) {
        if (action === "test") {
          return await goToProvider(
            c,
            parts,
            (tokens) => companySignIn.beginProviderTest(services, access, tokens),
          );
        }
        if (action === "remove") await companySignIn.removeCompanyProvider(services, access);
        else if (action === "stop") await companySignIn.stopRequiringProvider(services, access);
        else {
          const { testedAt: _tested, ...provider } = (await requireProvider(parts, access)).provider;
          await companySignIn.putCompanyProvider(services, access, { ...provider, enforced: true });
        }
        return `${href}?done=${action}`;
      },
    });
  }
}

async function requireProvider({ services }: PortalParts, access: Access) {
  const { provider, ...sso } = await companySignIn.getCompanySignIn(services, access);
  if (provider === null) throw notFoundError();
  return { ...sso, provider };
}

function domainForms(pages: Pages<MemberViewer>, parts: PortalParts): void {
  const { services } = parts;
  const { href } = companySignInLink;
  mountOwnerForm(pages, parts, {
    path: `${path}/domains/new`,
    show: (_c, { field, ...form }) => (
      <FormPage
        {...form}
        title="Add domain"
        text="Subdomains need their own records."
        submit="Add domain"
        isNarrow
      >
        <TextField
          label="Domain"
          {...field("domain")}
          placeholder="For example: example.com"
          required
          maxlength={domainCharactersMax}
          autofocus
        />
      </FormPage>
    ),
    async submit(_c, { access }, { domain = "" }) {
      const input = check(companyDomainSchema, { domain }, "body");
      return companyDomainHref(
        (await companyDomains.addCompanyDomain(services, access, input.domain)).domain,
        "verify",
      );
    },
  });
  mountOwnerForm(pages, parts, {
    path: `${path}/domains/:domain/verify`,
    async show(c, form, { access }) {
      const { domain, recordName, recordValue } = await domainOf(c, parts, access);
      return (
        <ConfirmPage
          {...form}
          title="Verify domain"
          heading="Verify {name}"
          name={domain}
          text="Add this TXT record in DNS, then verify it here. It can take an hour to arrive. Keep the record: once it has been missing for two weeks, the domain isn't verified anymore."
          facts={[
            { label: "Name", value: <code class="pick">{recordName}</code> },
            { label: "Type", value: "TXT" },
            { label: "Value", value: <code class="pick">{recordValue}</code> },
          ]}
          tone="primary"
        />
      );
    },
    async submit(c, { access }) {
      await companyDomains.verifyCompanyDomain(services, access, paramOf(c, "domain"));
      return `${href}?done=verified`;
    },
  });
  mountOwnerForm(pages, parts, {
    path: `${path}/domains/:domain/remove`,
    async show(c, form, { access }) {
      const { domain } = await domainOf(c, parts, access);
      return (
        <ConfirmPage
          {...form}
          title="Remove domain"
          heading="Remove {name}?"
          name={domain}
          text="People with addresses of this domain can't sign in with your provider from now on. They use passwords and passkeys, and stay members."
          facts={[{ label: "Domain", value: domain }]}
        />
      );
    },
    async submit(c, { access }) {
      await companyDomains.removeCompanyDomain(services, access, paramOf(c, "domain"));
      return `${href}?done=domain-removed`;
    },
  });
}

async function domainOf(c: AppContext, { services }: PortalParts, access: Access) {
  const { domains } = await companySignIn.getCompanySignIn(services, access);
  const found = domains.find(({ domain }) => domain === paramOf(c, "domain"));
  if (found === undefined) throw notFoundError();
  return found;
}

function operatorForms(app: App, parts: PortalParts): void {
  const { services } = parts;
  mountFormPage(consolePages(app, parts, "operator/organizations"), {
    path: `${organizationsHref}/:id/single-sign-on`,
    async show(c, form, actor) {
      const access = await operatorAccess(services, actor, paramOf(c, "id"));
      const sso = await requireProvider(parts, access);
      const back = { href: organizationHref(access.organizationId), label: access.organizationName };
      return confirmAction("stop", { ...form, back }, sso);
    },
    async submit(c, actor) {
      const access = await operatorAccess(services, actor, paramOf(c, "id"));
      await companySignIn.stopRequiringProvider(services, access);
      return `${organizationHref(access.organizationId)}?done=sso-stopped`;
    },
  });
}

function providerForm({ field, ...form }: PageForm, sso: CompanySignIn, daysMax: number) {
  const { provider } = sso;
  return (
    <FormPage
      {...form}
      title={provider === null ? "Set up provider" : "Edit provider"}
      text="Register an application for the web at your provider, with this redirect URI. All owners get an email about changes."
      submit="Save provider"
      isNarrow
    >
      <Facts
        facts={[{ label: "Redirect URI", value: <code class="pick">{sso.redirectUri}</code> }]}
      />
      <TextField
        label="Issuer"
        {...field("issuer", provider?.issuer)}
        placeholder="For example: https://acme.okta.com"
        hint="Exactly as in the provider's discovery document."
        required
        maxlength={issuerCharactersMax}
      />
      <TextField
        label="Client ID"
        {...field("clientId", provider?.clientId)}
        required
        maxlength={clientIdCharactersMax}
      />
      <TextField
        label="Client secret"
        {...field("clientSecret")}
        type="password"
        hint={secretHint(provider)}
        required={provider === null}
        maxlength={clientSecretCharactersMax}
      />
      <SelectField
        label="Role of new members"
        {...field("role", provider?.role ?? "MEMBER")}
        choices={[{ value: "MEMBER", label: "Member" }, { value: "ADMIN", label: "Admin" }]}
      />
      <TextField
        label="Days until sessions end (optional)"
        {...field("sessionMaxDays", String(provider?.sessionMaxDays ?? ""))}
        hint={`For people of your domains: 1 to ${daysMax}. If empty, ${daysMax}.`}
        inputmode="numeric"
        maxlength={3}
      />
    </FormPage>
  );
}

function secretHint(provider: CompanySignIn["provider"]): string | undefined {
  if (provider === null) return undefined;
  return provider.enforced
    ? "If empty, the stored one stays. A new one is used once you have tested it."
    : "If empty, the stored one stays.";
}

type CompanyAction = "test" | "require" | "stop" | "remove";

const confirmations: Readonly<
  Record<CompanyAction, Required<Pick<ConfirmPageProps, "title" | "text" | "submit" | "tone">>>
> = {
  test: {
    title: "Test single sign-on",
    text:
      "Sign in at your provider with an address of a verified domain. We show you what it says about you. You stay signed in here.",
    submit: "Continue to provider",
    tone: "primary",
  },
  require: {
    title: "Require single sign-on",
    text: "Changes how people with addresses of your verified domains sign in. You can undo it at any time.",
    submit: "Require single sign-on",
    tone: "destroy",
  },
  stop: {
    title: "Stop requiring single sign-on",
    text:
      "People can sign in with passwords, passkeys and other providers again. Your provider keeps working.",
    submit: "Stop requiring",
    tone: "destroy",
  },
  remove: {
    title: "Remove provider",
    text:
      "People can't sign in with your provider from now on. They use passwords and passkeys, and stay members. Existing sessions stay.",
    submit: "Remove provider",
    tone: "destroy",
  },
};

const requiredMeans = [
  "Passwords, passkeys and other providers stop working for signing in. Only your provider does.",
  "Owners can still sign in with a passkey, if your provider breaks. Add one to your account first.",
  "Existing sessions stay until they end, also those that began with a password. To end them sooner, set the days until sessions end.",
  "No one can sign up with a password, reset one, or change their email address to another domain.",
];

function confirmAction(action: CompanyAction, form: PageForm, sso: CompanySignIn) {
  return (
    <ConfirmPage {...form} {...confirmations[action]} facts={providerFacts(sso, form.frame)}>
      {action === "require" && (
        <ul class="stacked">
          {requiredMeans.map((text) => (
            <li>
              <p class="small">{text}</p>
            </li>
          ))}
        </ul>
      )}
    </ConfirmPage>
  );
}

/** Shows an owner the provider's response in a test. */
export function providerTestPage(
  frame: PortalFrame,
  { isSuccess, isOfNewSecret, email, name, vouches }: ProviderTest,
) {
  const text = isSuccess
    ? isOfNewSecret
      ? "The test worked. The new client secret is now in use."
      : "The test worked. You can now require single sign-on."
    : email === null
    ? "The provider shared no email address. Let the application have the scope “email”, then test again."
    : !vouches
    ? "The provider says that this address isn't confirmed there. Confirm it at the provider, then test again."
    : "This address is not of a verified domain, or the settings were changed during the test. Verify its domain, then test again.";
  return (
    <PortalPage title="Test of single sign-on" frame={frame} place="organization">
      <div class="ask">
        <PageHead
          back={companySignInLink}
          title={isSuccess ? "Single sign-on works" : "The test didn't succeed"}
          text={text}
        />
        <div class="card">
          <Facts
            facts={[
              { label: "Name", value: <bdi>{name}</bdi> },
              { label: "Email address", value: email === null ? "None" : <bdi>{email}</bdi> },
            ]}
          />
          <footer>
            <ButtonLink tone="primary" href={companySignInLink.href}>Done</ButtonLink>
          </footer>
        </div>
      </div>
    </PortalPage>
  );
}
