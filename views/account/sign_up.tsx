// The sign-up page. It creates an account and its organization, or says that sign-up is closed.
import { nameCharactersMax } from "../../domain/limits.ts";
import { withReturnTo } from "../../domain/sign_in/return_to.ts";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { EmailField, NameField, PasswordField, TextField } from "../components/field.tsx";
import { type FormErrors, returnField } from "../components/form.tsx";
import { GateCard, GateHint } from "../components/gate_card.tsx";
import type { GateFrame, Page } from "../layout.tsx";

export function signUpPage({ frame, values, rejected, byInvitation = false }: {
  frame: GateFrame;
  /** As typed. `returnTo`: the next page, checked by the caller. */
  values: { name: string; email: string; organizationName: string; returnTo: string | null };
  rejected?: FormErrors;
  /** Where sign-up is closed, invited people can sign up. */
  byInvitation?: boolean;
}): Page {
  if (!frame.signUpOpen) {
    return (
      <GateCard
        frame={frame}
        title={byInvitation ? "By invitation only" : "Sign-up is closed"}
        text={byInvitation
          ? "You need an invitation to sign up. Ask someone who already uses this service, then open the link in the email."
          : "Ask the people who run this service for an account."}
      >
        <ButtonLink href="/sign-in">Sign in instead</ButtonLink>
      </GateCard>
    );
  }
  return (
    <GateCard
      frame={frame}
      title="Create an account"
      text="One account for all products."
      action="/sign-up"
      hidden={returnField(values.returnTo)}
      error={rejected?.message}
    >
      <NameField
        label="Your name"
        value={values.name}
        error={rejected?.fields["name"]}
        autocomplete="name"
        autofocus={Object.keys(rejected?.fields ?? {}).length === 0}
      />
      <EmailField
        label="Email"
        value={values.email}
        error={rejected?.fields["email"]}
        autocomplete="username"
      />
      <PasswordField label="Password" name="password" isNew error={rejected?.fields["password"]} />
      <TextField
        label="Organization (optional)"
        name="organizationName"
        value={values.organizationName}
        hint="Your API keys and usage belong to it. If empty, we'll name it after you."
        error={rejected?.fields["organizationName"]}
        autocomplete="organization"
        maxlength={nameCharactersMax}
      />
      <SubmitButton>Create account</SubmitButton>
      <GateHint
        text="Already have an account?"
        href={withReturnTo("/sign-in", values.returnTo)}
        label="Sign in"
      />
    </GateCard>
  );
}
