// The forms of a provider of the whole service, and its cells in the list.
import { providerKinds, type ServiceProvider } from "../../domain/people/identity_provider.ts";
import { connectedCountMax } from "../../domain/people/provider_limits.ts";
import {
  clientIdCharactersMax,
  clientSecretCharactersMax,
  issuerCharactersMax,
  ownIssuers,
  providerKindNames,
  providerSlugCharactersMax,
} from "../../domain/people/provider_metadata.ts";
import { Badge } from "../../views/components/badge.tsx";
import { Secret } from "../../views/components/code.tsx";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { CheckboxGroup, NameField, SelectField, TextField } from "../../views/components/field.tsx";
import { type FormInput, FormPage, type PageForm } from "../../views/components/form_page.tsx";
import { Name } from "../../views/components/table.tsx";

/** Returns a sent form as input of the API. */
export function typedProvider(input: FormInput) {
  const { name = "", issuer = "", clientId = "", clientSecret = "", position } = input;
  return {
    name,
    ...(issuer.trim() === "" ? {} : { issuer: issuer.trim() }),
    clientId,
    clientSecret,
    trustEmail: input["trustEmail"] !== undefined,
    signUp: input["signUp"] !== undefined,
    ...(position === undefined ? {} : { position: Number(position) }),
  };
}

/** Returns the typed and chosen values of a provider's form. */
export function providerInput(
  { name, slug, kind, issuer, clientId, position, trustEmail, signUp }: ServiceProvider,
): FormInput {
  return {
    ...{ name, slug, kind, issuer, clientId, position: String(position) },
    ...(trustEmail ? { trustEmail: "on" } : {}),
    ...(signUp ? { signUp: "on" } : {}),
  };
}

export function ProviderName({ name, kind, issuer }: ServiceProvider) {
  return (
    <>
      <Name text={name} />
      <div class="muted tiny">
        {kind === "oidc" || issuer !== ownIssuers[kind] ? issuer : providerKindNames[kind]}
      </div>
    </>
  );
}

export function Vouching({ trustEmail }: ServiceProvider) {
  return trustEmail ? <Badge tone="soon">All trusted</Badge> : <span>Verified ones</span>;
}

interface ProviderFormOptions {
  readonly redirectUri: string;
  /** The provider to edit, as stored. */
  readonly provider?: ServiceProvider;
  /** The choices of its position. */
  readonly positions?: readonly string[];
}

export function providerForm(form: PageForm, options: ProviderFormOptions) {
  const { input = { signUp: "on" } } = form;
  const { redirectUri, provider } = options;
  const isNew = provider === undefined;
  return (
    <FormPage
      {...form}
      title={isNew ? "Add provider" : "Edit provider"}
      heading={isNew ? undefined : "Edit “{name}”"}
      name={provider?.name}
      text={
        <>
          {isNew && "Create a client at the provider first. "}
          <a href="/docs/sign-in-with">How to set up Google, Microsoft, GitHub, Okta and Keycloak</a>
        </>
      }
      submit={isNew ? "Add provider" : "Save"}
      more={[
        <CheckboxGroup
          label="Who can sign in"
          name="admission"
          value={new Set(["signUp", "trustEmail"].filter((name) => input[name] !== undefined))}
          choices={admissionChoices}
        />,
        <>
          <h2>Redirect URI</h2>
          <p class="muted small">
            Register exactly this address at the provider{isNew && ", with your slug"}.
          </p>
          <Secret id="redirect-uri" value={redirectUri} copy="Copy" />
        </>,
      ]}
    >
      {providerFields(form, options)}
    </FormPage>
  );
}

const admissionChoices = [
  {
    value: "signUp",
    label: "New people may sign up",
    hint: "As far as the setting SIGN_UP allows. Otherwise only existing accounts and invited people.",
  },
  {
    value: "trustEmail",
    label: "Trust every email address",
    hint:
      "Only if you decide which addresses people have at this provider. It can sign in as any account whose " +
      "address it names.",
  },
];

function providerFields({ field }: PageForm, { provider, positions = [] }: ProviderFormOptions) {
  const isNew = provider === undefined;
  const kinds = providerKinds.map((value) => ({ value, label: providerKindNames[value] }));
  return (
    <>
      <div class="row half">
        <NameField label="Name" {...field("name")} hint="On its button: “Continue with …”" autofocus />
        <TextField
          label="Slug"
          {...field("slug")}
          hint={isNew ? "Part of the redirect URI. It can't be changed." : "It can't be changed."}
          required
          readonly={!isNew}
          maxlength={providerSlugCharactersMax}
        />
      </div>
      <div class="row half">
        {isNew ? <SelectField label="Kind" {...field("kind", "oidc")} choices={kinds} /> : (
          <SelectField
            label="Position"
            {...field("position")}
            choices={positions.map((value) => ({ value, label: value }))}
          />
        )}
        <TextField
          label={isNew ? "Issuer (optional for Google and GitHub)" : "Issuer"}
          {...field("issuer")}
          placeholder="For example: https://example.okta.com"
          hint="Microsoft: https://login.microsoftonline.com/TENANT_ID/v2.0"
          maxlength={issuerCharactersMax}
        />
      </div>
      <div class="row half">
        <TextField label="Client ID" {...field("clientId")} required maxlength={clientIdCharactersMax} />
        <TextField
          label={isNew ? "Client secret" : "Client secret (optional)"}
          {...field("clientSecret")}
          type="password"
          autocomplete="new-password"
          hint={isNew ? undefined : "Leave empty to keep the current secret."}
          required={isNew}
          maxlength={clientSecretCharactersMax}
        />
      </div>
    </>
  );
}

export function confirmDeletion(
  { field: _field, ...form }: PageForm,
  { name, issuer }: ServiceProvider,
  { accounts, withoutPassword }: { accounts: number; withoutPassword: number },
) {
  const countText = (count: number) =>
    count >= connectedCountMax ? `${connectedCountMax} or more` : `${count}`;
  return (
    <ConfirmPage
      {...form}
      title="Delete provider"
      heading="Delete “{name}”?"
      name={name}
      text="No one can sign in with it anymore. Existing sessions stay. People without a password can reset it by email. If you add the provider again with the same issuer, their connections work again."
      facts={[
        { label: "Issuer", value: <code>{issuer}</code> },
        { label: "Accounts that sign in with it", value: countText(accounts) },
        { label: "Of these, without a password", value: countText(withoutPassword) },
      ]}
    />
  );
}
