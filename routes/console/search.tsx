// The search of the portal and of the console: a page, whose results static/palette.js shows above any other page.
import { withoutTag } from "../../domain/keys/api_key.ts";
import { searchCharactersMax } from "../../domain/limits.ts";
import { countOf } from "../../domain/number_text.ts";
import { type Found, foundOfKindMax, isFoundIn, searchTextOf } from "../../domain/search.ts";
import { activeAccess } from "../../services/access/mod.ts";
import { searchAsMember, searchAsOperator } from "../../services/console/mod.ts";
import { SubmitButton } from "../../views/components/button.tsx";
import { Form } from "../../views/components/form.tsx";
import { Icon, type IconName } from "../../views/components/icon.tsx";
import { apiKeyHref } from "../../views/components/key_name.tsx";
import { organizationHref, userHref } from "../../views/components/links.ts";
import { consoleLinks, consoleSearch } from "../../views/components/operator_side.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { portalLinks, portalSearch } from "../../views/components/side.tsx";
import type { SearchLinks } from "../../views/components/side_bar.tsx";
import { type PortalFrame, PortalPage } from "../../views/layout.tsx";
import type { App, AppContext } from "../env.ts";
import { inTime } from "../portal/in_time.ts";
import { operatorFrame, operatorPages } from "../portal/operator_page.ts";
import { portalFrame, type PortalParts, redirect, sendPage, signedInRoutes } from "../portal/page.ts";

interface SearchInput {
  readonly text: string;
  readonly signal: AbortSignal;
}

const nothing: Found = { organizations: [], apiKeys: [], users: [] };

export function searchRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  signedInRoutes(app, parts).get(portalSearch.href, (c, actor) => {
    const frame = portalFrame(parts, actor);
    return showResults(
      c,
      frame,
      async (input) =>
        actor.organization === null ? nothing : await searchAsMember(services, activeAccess(actor), input),
    );
  });
  operatorPages(app, parts).get(
    consoleSearch.href,
    (c, actor) =>
      showResults(c, operatorFrame(parts, actor), (input) => searchAsOperator(services, actor, input)),
  );
}

async function showResults(
  c: AppContext,
  frame: PortalFrame,
  find: (input: SearchInput) => Promise<Found>,
): Promise<Response> {
  const typed = c.req.query("q") ?? "";
  const text = searchTextOf(typed.slice(0, searchCharactersMax));
  // The address of the page must not have the rest of a key.
  if (text !== typed) return redirect(c, `${c.req.path}?q=${encodeURIComponent(text)}`);
  const found = text === "" ? nothing : await inTime((signal) => find({ text, signal }));
  return await sendPage(c, searchPage({ frame, text, found }));
}

interface Result {
  readonly href: string;
  readonly icon: IconName;
  readonly name: string;
  readonly second?: string | null;
  /** An organization of the member: switching to it is a form. */
  readonly organizationId?: string;
}

interface Group {
  readonly title: string;
  readonly results: readonly Result[];
}

/** `text`: as it is searched for; "" before a search. `found`: null when only pages can be found. */
function searchPage({ frame, text, found }: { frame: PortalFrame; text: string; found: Found | null }) {
  const groups = groupsOf(frame, text, found).filter(({ results }) => results.length > 0);
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

function ResultItem({ result: { href, icon, name, second, organizationId } }: { result: Result }) {
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
        ? <a class="menu-item" href={href}>{content}</a>
        : (
          <Form action={href} hidden={{ organizationId }}>
            <button type="submit" class="menu-item">{content}</button>
          </Form>
        )}
    </li>
  );
}

function groupsOf(frame: PortalFrame, text: string, found: Found | null): Group[] {
  const { pages, actions } = frame.isConsole ? consoleLinks : portalLinks(frame.session);
  const isFound = ({ name }: Pick<Result, "name">) => isFoundIn(name, text);
  const linksTo = (links: SearchLinks["pages"]) =>
    links.map(({ label, ...link }): Result => ({ ...link, name: label })).filter(isFound);
  const { organizations = [], apiKeys = [], users = [] } = found ?? {};
  const keys = apiKeys.map((
    { id, name, keyPrefix, environment, organizationId, organizationName, ended },
  ): Result => ({
    href: apiKeyHref(frame.isConsole ? organizationHref(organizationId) : frame.base, id),
    icon: "key",
    name,
    second: seconds(
      withoutTag(keyPrefix),
      environment === "test" && "Test",
      frame.isConsole && organizationName,
      ended && "Inactive",
    ),
  }));
  const own = frame.isConsole || text === ""
    ? []
    : ownOrganizations(frame).filter(isFound).slice(0, foundOfKindMax);
  return [
    {
      title: "Organizations",
      results: [
        ...own,
        ...organizations.map(({ id, name, externalId, suspended }): Result => ({
          href: organizationHref(id),
          icon: "building",
          name,
          second: seconds(externalId, suspended && "Suspended"),
        })),
      ],
    },
    { title: "API keys", results: keys },
    {
      title: "Users",
      results: users.map(({ id, name, email, disabled }): Result => ({
        href: userHref(id),
        icon: "person",
        name,
        second: seconds(email, disabled && "Disabled"),
      })),
    },
    { title: "Pages", results: linksTo(pages) },
    { title: "Actions", results: linksTo(actions) },
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
