// The sign-up page. It creates an account and its organization, or says that sign-up is closed.
import { nameCharactersMax } from "../../domain/limits.ts";
import { withReturnTo } from "../../domain/people/return_to.ts";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { EmailField, NameField, PasswordField, TextField } from "../components/field.tsx";
import { returnField, type ShownForm, typed } from "../components/form.tsx";
import { GateCard, GateHint } from "../components/gate_card.tsx";
import type { GateFrame, Page } from "../layout.tsx";
import { ProviderButtons, type ProviderOffer } from "./provider_buttons.tsx";

export function signUpPage({ frame, returnTo, providers, form, byInvitation = false }: {
  frame: GateFrame;
  providers: ProviderOffer;
  /** The next page, checked by the caller. */
  returnTo: string | null;
  form: ShownForm;
  /** If sign-up is closed, tells people that they need an invitation. */
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
      hidden={returnField(returnTo)}
      error={form.message}
    >
      <ProviderButtons {...providers} query={returnField(returnTo)} />
      <NameField
        label="Your name"
        {...typed(form, "name")}
        autocomplete="name"
        autofocus
      />
      <EmailField label="Email" {...typed(form, "email")} autocomplete="username" />
      <PasswordField label="Password" name="password" isNew error={form.fields["password"]} />
      <TextField
        label="Organization (optional)"
        name="organizationName"
        {...typed(form, "organizationName")}
        hint="Your API keys and usage belong to it. If empty, we'll name it after you."
        autocomplete="organization"
        maxlength={nameCharactersMax}
      />
      <SubmitButton>Create account</SubmitButton>
      <GateHint
        text="Already have an account?"
        href={withReturnTo("/sign-in", returnTo)}
        label="Sign in"
      />
    </GateCard>
  );
}
