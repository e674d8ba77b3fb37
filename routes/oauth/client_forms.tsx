// The form of an application.
import { roleWords } from "../../views/text/role.ts";
import { type Client, clientGrants } from "../../domain/oauth/client.ts";
import type { ClientSettings, ManagedClient } from "../../domain/oauth/client_settings.ts";
import type { Resource } from "../../domain/oauth/resource.ts";
import { signInScopes } from "../../domain/oauth/scope_names.ts";
import { CheckboxGroup, NameField, SelectField, TextArea, TextField } from "../../views/components/field.tsx";
import { newClientSettings } from "../../services/oauth/mod.ts";
import type { FormInput, PageForm } from "../../views/components/form_page.tsx";

const [codeGrant, refreshGrant, deviceGrant] = clientGrants;
const linesOf = (text = "") => text.split(/\s+/).filter((line) => line !== "");
const none = (text = "") => text.trim() === "" ? null : text.trim();

/** Returns a sent form as input of the API. */
export function typedClient(input: FormInput) {
  const organizationIds = linesOf(input["organizationLines"]);
  const minRole = input["minRole"] ?? "MEMBER";
  return {
    name: input["name"] ?? "",
    grants: [codeGrant, refreshGrant, ...input["device"] === undefined ? [] : [deviceGrant]],
    redirectUris: linesOf(input["redirectUriLines"]),
    postLogoutRedirectUris: linesOf(input["postLogoutRedirectUriLines"]),
    backchannelLogoutUri: none(input["backchannelLogoutUri"]),
    access: organizationIds.length === 0 ? "everyone" : { organizationIds, minRole },
    scopes: signInScopes.filter((scope) => input[`scope-${scope}`] !== undefined),
    defaultResource: none(input["defaultResource"]),
    consent: input["consent"] !== undefined,
    idTokenAlgorithm: input["idTokenAlgorithm"] ?? "",
    requirePkce: input["requirePkce"] !== undefined,
    groupNames: Object.fromEntries(
      (input["groupNameLines"] ?? "").split(/[\r\n]+/).filter((line) => line.trim() !== "").map((line) => {
        const at = line.indexOf("=");
        return at === -1 ? [line.trim(), ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
      }),
    ),
  };
}

/** Returns the typed and chosen values of an application's form. */
export function clientInput(client: Pick<Client, "enabled"> & ClientSettings = newClient): FormInput {
  const { access } = client;
  const chosen = {
    consent: client.consent,
    requirePkce: client.requirePkce,
    enabled: client.enabled,
    device: client.grants.includes(deviceGrant),
    ...Object.fromEntries(client.scopes.map((scope) => [`scope-${scope}`, true])),
  };
  return {
    name: client.name,
    redirectUriLines: client.redirectUris.join("\n"),
    postLogoutRedirectUriLines: client.postLogoutRedirectUris.join("\n"),
    backchannelLogoutUri: client.backchannelLogoutUri ?? "",
    organizationLines: access === "everyone" ? "" : access.organizationIds.join("\n"),
    minRole: access === "everyone" ? "MEMBER" : access.minRole,
    defaultResource: client.defaultResource ?? "",
    idTokenAlgorithm: client.idTokenAlgorithm,
    groupNameLines: Object.entries(client.groupNames).map(([group, name]) => `${group} = ${name}`).join("\n"),
    ...Object.fromEntries(Object.entries(chosen).filter(([, isOn]) => isOn).map(([name]) => [name, "on"])),
  };
}

const newClient = { ...newClientSettings, name: "", enabled: true };

const rules = [
  { value: "consent", label: "Ask people for consent", hint: "Turn off only for your own applications." },
  {
    value: "requirePkce",
    label: "Require PKCE",
    hint: "Turn off only for a confidential application that can't send it.",
  },
  {
    value: "device",
    label: "Sign in on devices",
    hint: "For command-line tools and devices that show a code.",
  },
];

/** @param resources Those that may be the default. */
export function clientForm(form: PageForm, resources: readonly Resource[], client?: ManagedClient) {
  const { input = {} } = form;
  const isNew = client === undefined;
  const choices = isNew ? rules : [
    { value: "enabled", label: "Enabled", hint: "Otherwise all its requests and tokens are rejected." },
    ...rules,
  ];
  const scopeChoices = signInScopes.map((scope) => ({ value: `scope-${scope}`, label: scope }));
  const setOf = (all: readonly { value: string }[]) =>
    new Set(all.map(({ value }) => value).filter((value) => input[value] !== undefined));
  return {
    text: <a href="/docs/openid">How applications sign people in</a>,
    error: form.error ?? form.fields["grants"] ?? form.fields["requirePkce"],
    more: [
      <CheckboxGroup label="Rules" name="rules" value={setOf(choices)} choices={choices} />,
      <CheckboxGroup label="Scopes" name="scopes" value={setOf(scopeChoices)} choices={scopeChoices} />,
      <MoreFields form={form} resources={resources} />,
    ],
    children: (
      <>
        <div class="row half">
          <NameField
            label="Name"
            {...form.field("name")}
            hint="People see it when they sign in."
            autofocus
          />
          {isNew && (
            <SelectField
              label="Type"
              {...form.field("type", "confidential")}
              choices={[
                { value: "confidential", label: "On a server, with a secret" },
                { value: "public", label: "On devices or in browsers" },
              ]}
            />
          )}
        </div>
        <AddressesField form={form} name="redirectUris" label="Redirect URIs" required />
      </>
    ),
  };
}

/** Shows a problem with any of the lines. */
function AddressesField(
  { form, name, label, required = false }: {
    form: PageForm;
    name: string;
    label: string;
    required?: boolean;
  },
) {
  const fault = Object.entries(form.fields).find(([path]) => path.startsWith(name));
  const line = Number(/\[(\d+)\]/.exec(fault?.[0] ?? "")?.[1] ?? Number.NaN);
  const error = fault && (Number.isNaN(line) ? fault[1] : `Line ${line + 1}: ${fault[1]}`);
  return (
    <TextArea
      label={label}
      {...form.field(`${name.slice(0, -1)}Lines`)}
      {...error && { error }}
      hint="One on each line. Compared exactly."
      rows={3}
      required={required}
      maxlength={21_000}
    />
  );
}

function MoreFields({ form, resources }: { form: PageForm; resources: readonly Resource[] }) {
  const { field, fields } = form;
  return (
    <>
      <TextArea
        label="Organizations that may use it (optional)"
        {...field("organizationLines")}
        {...faultOf(fields, "access")}
        hint="Organization IDs, one on each line. If empty, everyone with an account can use it."
        rows={2}
        maxlength={5_000}
      />
      <div class="row half">
        <SelectField
          label="Lowest role in these organizations"
          {...field("minRole")}
          choices={(["MEMBER", "ADMIN", "OWNER"] as const).map((value) => ({
            value,
            label: roleWords[value],
          }))}
        />
        <SelectField
          label="ID token algorithm"
          {...field("idTokenAlgorithm")}
          choices={["RS256", "ES256"].map((value) => ({ value, label: value }))}
        />
      </div>
      <AddressesField
        form={form}
        name="postLogoutRedirectUris"
        label="Redirect URIs after sign-out (optional)"
      />
      <div class="row half">
        <TextField
          label="Back-channel logout URI (optional)"
          {...field("backchannelLogoutUri")}
          maxlength={1_000}
        />
        <SelectField
          label="Default resource"
          {...field("defaultResource")}
          hint="Its tokens are for this resource if a request names none."
          choices={[
            { value: "", label: "None" },
            ...resources.map(({ id, name }) => ({ value: id, label: name })),
          ]}
        />
      </div>
      <TextArea
        label="Group names (optional)"
        {...field("groupNameLines")}
        {...faultOf(fields, "groupNames")}
        hint="One on each line: operator = admins"
        rows={2}
        maxlength={40_000}
      />
    </>
  );
}

/** Returns the error of a field or of any of its parts. */
export function faultOf(fields: PageForm["fields"], name: string): { readonly error?: string } {
  const error = Object.entries(fields).find(([path]) => path.startsWith(name))?.[1];
  return error === undefined ? {} : { error };
}
