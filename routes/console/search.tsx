// The search of the portal and of the console: a page, whose results static/palette.js shows above any other page.
import { auditActions } from "../../domain/access/audit.ts";
import { withoutTag } from "../../domain/keys/api_key.ts";
import { searchCharactersMax } from "../../domain/limits.ts";
import { countOf } from "../../domain/number_text.ts";
import { webhookName } from "../../domain/outbox/webhook.ts";
import { presentation } from "../../domain/presentation.ts";
import {
  type Found,
  foundOfKindMax,
  isFoundIn,
  nothingFound,
  searchTextOf,
  withoutQuestion,
} from "../../domain/search.ts";
import { activeAccess } from "../../services/access/mod.ts";
import { listStatements } from "../../services/billing/mod.ts";
import { searchAsMember, searchAsOperator, type SearchInput } from "../../services/console/mod.ts";
import { SubmitButton } from "../../views/components/button.tsx";
import { Form } from "../../views/components/form.tsx";
import { Icon, type IconName } from "../../views/components/icon.tsx";
import { apiKeyHref } from "../../views/components/key_name.tsx";
import { organizationHref, rejectionsQuery, userHref } from "../../views/components/links.ts";
import { consoleLinks, consoleSearch } from "../../views/components/operator_side.tsx";
import { listHref } from "../../views/components/list_filters.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { portalLinks, portalSearch } from "../../views/components/side.tsx";
import type { SearchLinks } from "../../views/components/side_bar.tsx";
import { type PortalFrame, PortalPage } from "../../views/layout.tsx";
import { billingHref, statementHref } from "../../views/billing/statement_text.ts";
import { deliveryHref } from "../../views/outbox/delivery.tsx";
import { webhookHref } from "../../views/outbox/webhook.tsx";
import { clockTime, monthWords, shortDate } from "../../views/text/time.ts";
import type { App, AppContext } from "../env.ts";
import { inTime } from "../portal/in_time.ts";
import { operatorFrame, operatorHome, operatorPages } from "../portal/operator_page.ts";
import { portalFrame, type PortalParts, redirect, sendPage, signedInRoutes } from "../portal/page.ts";

export function searchRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  signedInRoutes(app, parts).get(portalSearch.href, (c, actor) => {
    const frame = portalFrame(parts, actor);
    return showResults(c, parts, {
      frame,
      find: async (input) =>
        actor.organization === null
          ? nothingFound
          : await searchAsMember(services, activeAccess(actor), input),
    });
  });
  operatorPages(app, parts).get(
    consoleSearch.href,
    (c, actor) =>
      showResults(c, parts, {
        frame: operatorFrame(parts, actor),
        find: (input) => searchAsOperator(services, actor, input),
      }),
  );
}

async function showResults(
  c: AppContext,
  parts: PortalParts,
  { frame, find }: { frame: PortalFrame; find: (input: SearchInput) => Promise<Found> },
): Promise<Response> {
  const typed = c.req.query("q") ?? "";
  const text = searchTextOf(typed.slice(0, searchCharactersMax));
  // The address of the page must not have the rest of a key.
  if (text !== typed) return redirect(c, `${c.req.path}?q=${encodeURIComponent(text)}`);
  const [found, months, guides] = text === "" ? [nothingFound, [], []] : await Promise.all([
    inTime((signal) => find({ text: withoutQuestion(text), signal })),
    findMonths(parts, frame, text),
    findGuides(text),
  ]);
  return await sendPage(c, searchPage({ frame, text, found, months, guides }));
}

const monthsSearched = 24;
const docsCharactersMin = 3;

/** Finds closed months by name, such as `October 2026`, or by what people call their statements. */
async function findMonths({ services }: PortalParts, frame: PortalFrame, text: string): Promise<Result[]> {
  if (!frame.isConsole && frame.session.organization === null) return [];
  const { statements } = await listStatements(services, { limit: monthsSearched });
  return statements.map(({ id, period }) => ({
    href: frame.isConsole ? statementHref(id) : billingHref(frame, period),
    icon: "file" as const,
    name: monthWords(Date.parse(`${period}-01T00:00:00Z`)),
    also: `${period} statements invoices bills`,
  })).filter((month) => isFoundIn(`${month.name} ${month.also}`, text)).slice(0, foundOfKindMax);
}

async function findGuides(text: string): Promise<Result[]> {
  if (text.length < docsCharactersMin) return [];
  const { guideLinks } = await import("../portal/docs/guides.ts");
  return guideLinks.filter(({ title }) => isFoundIn(title, text)).slice(0, foundOfKindMax)
    .map(({ path, title }) => ({ href: path, icon: "book", name: title }));
}

interface Result {
  readonly href: string;
  readonly icon: IconName;
  readonly name: string;
  readonly second?: string | null;
  /** An organization of the member: switching to it is a form. */
  readonly organizationId?: string;
  /** Pages of the object: what can be done with it, or its parts. */
  readonly acts?: readonly { readonly href: string; readonly label: string }[];
}

interface Group {
  readonly title: string;
  readonly results: readonly Result[];
}

interface SearchPageProps {
  readonly frame: PortalFrame;
  /** As it is searched for; "" before a search. */
  readonly text: string;
  /** Null when only pages can be found. */
  readonly found: Found | null;
  readonly months: readonly Result[];
  readonly guides: readonly Result[];
}

function searchPage(props: SearchPageProps) {
  const { frame, text, found } = props;
  const groups = groupsOf(props).filter(({ results }) => results.length > 0);
  const { href, label } = frame.isConsole ? consoleSearch : portalSearch;
  const count = groups.reduce((sum, { results }) => sum + results.length, 0);
  return (
    <PortalPage title="Search" frame={frame} place={null}>
      <PageHead title="Search" />
      <section class="card finder">
        <form class="search" role="search" method="get" action={href}>
          <Icon name="search" />
          <input
            type="search"
            name="q"
            value={text}
            aria-label={label}
            placeholder={label}
            autocomplete="off"
            maxlength={searchCharactersMax}
            autofocus
          />
          <SubmitButton tone="plain">Search</SubmitButton>
        </form>
        <div id="found" class="found">
          <p role="status" class={text !== "" && count === 0 ? "muted" : "unseen"}>
            {text === "" ? "" : <Summary text={text} count={count} />}
          </p>
          {found === null && <p class="muted">Only pages can be searched right now. Try again shortly.</p>}
          {groups.map(({ title, results }) => (
            <>
              <h2>{title}</h2>
              <ul>{results.map((result) => <ResultItem result={result} />)}</ul>
            </>
          ))}
        </div>
      </section>
    </PortalPage>
  );
}

function Summary({ text, count }: { text: string; count: number }) {
  const quoted = (
    <>
      “<bdi>{text}</bdi>”
    </>
  );
  if (count > 0) return <>{countOf(count, "result")} for {quoted}</>;
  return <>No results for {quoted}. Keys are found by their first characters, at least four.</>;
}

function ResultItem({ result: { href, icon, name, second, organizationId, acts = [] } }: { result: Result }) {
  const content = (
    <>
      <Icon name={icon} />
      <bdi class="cut">{name}</bdi>
      {second && <bdi class="cut muted tiny">{second}</bdi>}
    </>
  );
  return (
    <li>
      {organizationId === undefined
        ? (
          <>
            <a class="menu-item" href={href}>{content}</a>
            {acts.map((act) => (
              <a class="button quiet" href={act.href}>
                {act.label}
                <span class="unseen">{` ${name}`}</span>
              </a>
            ))}
          </>
        )
        : (
          <Form action={href} hidden={{ organizationId }}>
            <button type="submit" class="menu-item">{content}</button>
          </Form>
        )}
    </li>
  );
}

function groupsOf({ frame, text, found, months, guides }: SearchPageProps): Group[] {
  const { pages, actions } = frame.isConsole ? consoleLinks : portalLinks(frame.session);
  const linksTo = (links: SearchLinks["pages"]) =>
    links.filter(({ label, also = "" }) => isFoundIn(`${label} ${also}`, text))
      .map(({ href, icon, label }): Result => ({ href, icon, name: label }));
  const { organizations, apiKeys, users, members, ...ofLog } = found ?? nothingFound;
  const own = frame.isConsole || text === ""
    ? []
    : ownOrganizations(frame).filter(({ name }) => isFoundIn(name, text)).slice(0, foundOfKindMax);
  return [
    { title: "Organizations", results: [...own, ...organizations.map(organizationResult)] },
    { title: "API keys", results: apiKeys.map((key) => keyResult(frame, key)) },
    {
      title: "Users",
      results: users.map(({ id, name, email, disabled }): Result => ({
        href: userHref(id),
        icon: "person",
        name,
        second: seconds(email, disabled && "Disabled"),
      })),
    },
    {
      title: "Members",
      results: members.map(({ id, name, email }): Result => ({
        href: `${frame.base}/members#${id}`,
        icon: "person",
        name,
        second: email,
      })),
    },
    ...logGroups(frame, ofLog),
    { title: "Statements", results: months },
    { title: "Pages", results: linksTo(pages) },
    { title: "Actions", results: linksTo(actions) },
    { title: "Documentation", results: guides },
  ];
}

function organizationResult({ id, name, externalId, suspended }: Found["organizations"][number]): Result {
  const href = organizationHref(id);
  return {
    href,
    icon: "building",
    name,
    second: seconds(externalId, suspended && "Suspended"),
    acts: [
      { href: `${href}/usage`, label: "Usage" },
      { href: `${href}/api-keys`, label: "Keys" },
      { href: `/operator/usage${rejectionsQuery}&organizationId=${id}`, label: "Rejections" },
    ],
  };
}

function keyResult(frame: PortalFrame, key: Found["apiKeys"][number]): Result {
  const { id, name, keyPrefix, environment, organizationId, organizationName, ended } = key;
  const base = frame.isConsole ? organizationHref(organizationId) : frame.base;
  return {
    href: apiKeyHref(base, id),
    icon: "key",
    name,
    second: seconds(
      withoutTag(keyPrefix),
      environment === "test" && "Test",
      frame.isConsole && organizationName,
      ended && "Inactive",
    ),
    acts: [
      { href: apiKeyHref(base, id) + rejectionsQuery, label: "Rejections" },
      ...ended ? [] : [
        { href: apiKeyHref(base, id, "rotate"), label: "Rotate" },
        { href: apiKeyHref(base, id, "revoke"), label: "Revoke" },
      ],
    ],
  };
}

/** Webhooks, and what belongs to the id of an event or a request. */
function logGroups(
  frame: PortalFrame,
  { webhooks, deliveries, entries }: Pick<Found, "webhooks" | "deliveries" | "entries">,
): Group[] {
  const baseOf = (organizationId: string | null) =>
    !frame.isConsole ? frame.base : organizationId === null ? operatorHome : organizationHref(organizationId);
  return [
    {
      title: "Webhooks",
      results: webhooks.map((one): Result => ({
        href: webhookHref(baseOf(one.organizationId), one.id),
        icon: "webhook",
        name: webhookName(one),
        second: seconds(
          one.description !== "" && new URL(one.url).host,
          frame.isConsole && one.organizationName,
        ),
        acts: [{ href: webhookHref(baseOf(one.organizationId), one.id, "rotate"), label: "Rotate secret" }],
      })),
    },
    {
      title: "Deliveries",
      results: deliveries.map((one): Result => ({
        href: deliveryHref(baseOf(one.organizationId), one.id, one.deliveryId),
        icon: "webhook",
        name: one.type,
        second: seconds(webhookName(one), frame.isConsole && one.organizationName),
      })),
    },
    {
      title: "Audit log",
      results: entries.map(({ action, at, organizationId }): Result => {
        // Swedish dates are those of ISO 8601.
        const day = new Intl.DateTimeFormat("sv-SE", { timeZone: presentation().timezone }).format(at);
        return {
          href: listHref(frame.isConsole ? "/operator/audit" : `${frame.base}/audit`, {
            organizationId: frame.isConsole ? organizationId : null,
            action,
            from: day,
            to: day,
          }),
          icon: "list",
          name: auditActions[action],
          second: `${shortDate(at, frame.now)}, ${clockTime(at)} UTC`,
        };
      }),
    },
  ];
}

function ownOrganizations({ session: { memberships } }: PortalFrame): Result[] {
  return memberships.map(({ organizationId, name }) => ({
    href: "/portal/switch",
    icon: "building",
    name,
    organizationId,
  }));
}

function seconds(...parts: readonly (string | null | false | 0)[]): string {
  return parts.filter((part) => part).join(" · ");
}
