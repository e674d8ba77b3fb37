// The forms of an organization's single sign-on: the provider, a domain, and what to confirm.
import {
  type CompanyDomain,
  type CompanySignIn,
  domainCharactersMax,
  type ProviderTest,
} from "../../domain/people/company_sign_in.ts";
import {
  clientIdCharactersMax,
  clientSecretCharactersMax,
  issuerCharactersMax,
} from "../../domain/people/provider_metadata.ts";
import { ButtonLink } from "../components/button.tsx";
import { ConfirmPage, type ConfirmPageProps } from "../components/confirm_page.tsx";
import { Facts } from "../components/facts.tsx";
import { SelectField, TextField } from "../components/field.tsx";
import { FormPage, type PageForm } from "../components/form_page.tsx";
import { PageHead } from "../components/page_head.tsx";
import { type Page, PortalPage } from "../layout.tsx";
import { companySignInLink, providerFacts } from "./company_sign_in.tsx";

export function companyProviderForm(
  { field, ...form }: PageForm,
  { sso, daysMax }: { sso: CompanySignIn; daysMax: number },
): Page {
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

export function companyDomainForm({ field, ...form }: PageForm): Page {
  return (
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
  );
}

export function verifyDomainPage(form: PageForm, { domain, recordName, recordValue }: CompanyDomain): Page {
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
}

export function removeDomainPage(form: PageForm, { domain }: CompanyDomain): Page {
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
}

export type CompanyAction = "test" | "require" | "stop" | "remove";

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

export function confirmCompanyAction(
  action: CompanyAction,
  form: PageForm,
  sso: CompanySignIn,
): Page {
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
  { frame, test: { isSuccess, isOfNewSecret, email, name, vouches } }: {
    frame: PageForm["frame"];
    test: ProviderTest;
  },
): Page {
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
