// The forms of a webhook endpoint: add, edit, and the confirmations of what can be done with it.
import { type EventType, eventTypes } from "../../domain/outbox/event_types.ts";
import { isOperatorsEventName, type Webhook, webhookName } from "../../domain/outbox/webhook.ts";
import {
  webhookDescriptionCharactersMax,
  webhookUrlCharactersMax,
} from "../../domain/outbox/webhook_limits.ts";
import { ConfirmPage, type ConfirmPageProps } from "../../views/components/confirm_page.tsx";
import { defaultGrace, graceChoices } from "../../views/components/expiry_field.tsx";
import { CheckboxGroup, RadioGroup, TextField } from "../../views/components/field.tsx";
import { Icon } from "../../views/components/icon.tsx";
import { type FormInput, FormPage, type PageForm } from "../../views/components/form_page.tsx";
import type { Page } from "../../views/layout.tsx";
import { type WebhookAction, webhookFacts, webhookLink } from "../../views/outbox/webhook.tsx";

const headings = {
  limit: "Limits and alerts",
  api_key: "API keys",
  member: "Members",
  organization: "Organization",
  webhook: "Webhooks",
  statement: "Statements",
} as const;

/** A test is sent whether an endpoint lists it or not. */
const unlisted: EventType = "webhook.test";

const groups = Object.entries(headings).map(([noun, label]) => ({
  label,
  name: `${noun}.*`,
  choices: [
    { value: `${noun}.*`, label: `${noun}.*`, hint: "All of these, including future ones" },
    ...Object.entries(eventTypes)
      .filter(([type]) => type.startsWith(`${noun}.`) && type !== unlisted)
      .map(([value, hint]) => ({ value, label: value, hint })),
  ],
}));

const eventChoices = ["*", ...groups.flatMap(({ choices }) => choices.map(({ value }) => value))];

/** Returns the typed and chosen values of an endpoint's form. */
export function webhookInput({ url, description, events }: Webhook): FormInput {
  return { url, description, ...Object.fromEntries(events.map((name) => [name, "on"])) };
}

/** Returns a sent form as input of the API. */
export function typedWebhook({ url = "", description = "", ...input }: FormInput) {
  return { url, description, events: eventChoices.filter((name) => input[name] !== undefined) };
}

/** The form that adds an endpoint, or edits `webhook`. */
export function webhookForm(
  form: PageForm,
  { webhook, isForOperators }: { webhook?: Webhook; isForOperators: boolean },
): Page {
  const { field, fields, input = {}, ...page } = form;
  const chosen = new Set(eventChoices.filter((name) => input[name] !== undefined));
  const found = Object.entries(fields).find(([name]) => name.startsWith("events"))?.[1];
  const error = found !== undefined && chosen.size === 0 ? "Choose at least one event." : found;
  const title = webhook === undefined ? "Add webhook" : "Edit webhook";
  return (
    <FormPage
      {...page}
      title={title}
      heading={webhook && "Edit “{name}”"}
      name={webhook && webhookName(webhook)}
      text="Receives events as POST requests, each signed with a secret."
      back={webhook === undefined ? page.back : webhookLink(page.frame.base, webhook)}
      submit={webhook === undefined ? title : "Save"}
      more={[
        <CheckboxGroup
          label="Events"
          name="events"
          value={chosen}
          choices={[{ value: "*", label: "All events", hint: "Also those added later" }]}
          error={error}
        />,
        <EventGroups chosen={chosen} isForOperators={isForOperators} />,
      ]}
    >
      <div class="row half">
        <TextField
          label="URL"
          {...field("url")}
          placeholder="For example: https://example.com/webhooks"
          hint="An https URL with a public address."
          required
          maxlength={webhookUrlCharactersMax}
          autofocus
        />
        <TextField
          label="Description (optional)"
          {...field("description")}
          placeholder="For example: Billing"
          maxlength={webhookDescriptionCharactersMax}
        />
      </div>
    </FormPage>
  );
}

/** The events of each noun, folded unless some are chosen. */
function EventGroups(
  { chosen, isForOperators }: { chosen: ReadonlySet<string>; isForOperators: boolean },
) {
  return (
    <>
      {groups.map(({ choices, ...group }) => ({
        ...group,
        choices: choices.filter(({ value }) => isForOperators || !isOperatorsEventName(value)),
      })).filter(({ choices }) => choices.length > 0).map((group) => {
        const count = group.choices.filter(({ value }) => chosen.has(value)).length;
        return (
          <details class="event-group" open={count > 0}>
            <summary>
              <Icon name="chevron" />
              {group.label}
              {count > 0 && <span class="muted small">{`${count} chosen`}</span>}
            </summary>
            <CheckboxGroup {...group} value={chosen} />
          </details>
        );
      })}
    </>
  );
}

/** Notices on the page of an endpoint after an action. */
export const webhookFlashes = (name: string) => ({
  saved: `Changes to “${name}” have been saved.`,
  enabled: `“${name}” has been enabled.`,
  disabled: `“${name}” has been disabled. Its events are held.`,
});

type Confirmed = Exclude<WebhookAction, "edit">;

const confirmations: Readonly<
  Record<Confirmed, Required<Pick<ConfirmPageProps, "title" | "heading" | "text" | "submit" | "tone">>>
> = {
  rotate: {
    title: "Rotate secret",
    heading: "Rotate the secret of “{name}”",
    text: "Creates a new secret. Until the old one stops working, each request is signed with both.",
    submit: "Create new secret",
    tone: "primary",
  },
  enable: {
    title: "Enable webhook",
    heading: "Enable “{name}”?",
    text: "New events are sent again. Held events stay held until you replay them.",
    submit: "Enable webhook",
    tone: "primary",
  },
  disable: {
    title: "Disable webhook",
    heading: "Disable “{name}”?",
    text: "Nothing is sent until you enable it again. Events are held, and you can replay them for 30 days.",
    submit: "Disable webhook",
    tone: "destroy",
  },
  delete: {
    title: "Delete webhook",
    heading: "Delete “{name}”?",
    text: "Nothing is sent to it anymore, and its deliveries are deleted. This can't be undone.",
    submit: "Delete webhook",
    tone: "destroy",
  },
};

export function confirmWebhook(
  action: Confirmed,
  { field, ...page }: PageForm,
  webhook: Webhook,
): Page {
  return (
    <ConfirmPage
      {...page}
      {...confirmations[action]}
      name={webhookName(webhook)}
      facts={webhookFacts(webhook, page.frame.now)}
      back={webhookLink(page.frame.base, webhook)}
    >
      {action === "rotate" && (
        <RadioGroup
          label="When should the old secret stop working?"
          {...field("expireOld", defaultGrace)}
          choices={graceChoices(
            "Only if it may have leaked. Signatures don't match until your endpoint has the new secret.",
          )}
        />
      )}
    </ConfirmPage>
  );
}
