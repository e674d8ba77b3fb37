// The list of API keys, or the form that creates the first one.
import type { Child } from "hono/jsx";
import { environments } from "../../domain/environment.ts";
import { tagOf } from "../../domain/keys/api_key.ts";
import {
  keyListPageItems,
  type KeyOrder,
  keyOrders,
  type KeyState,
  keyStates,
  listedKeysMax,
} from "../../domain/keys/key_list.ts";
import { searchCharactersMax } from "../../domain/limits.ts";
import { countOf, groupDigits } from "../../domain/number_text.ts";
import { presentation } from "../../domain/presentation.ts";
import type { Access } from "../../services/access/mod.ts";
import type { KeyListQuery } from "../../services/keys/jobs/mod.ts";
import { getApiKey, listKeyLines, listNewestKeys } from "../../services/keys/mod.ts";
import { ButtonLink, SubmitButton } from "../../views/components/button.tsx";
import { EmptyState } from "../../views/components/empty_state.tsx";
import { EnvironmentMenu } from "../../views/components/environment.tsx";
import { Icon } from "../../views/components/icon.tsx";
import { managesAllKeys } from "../../views/components/key_name.tsx";
import { HintLine, ListCard, SearchBox, SortMenu, Tabs } from "../../views/components/list_card.tsx";
import { listHref } from "../../views/components/list_filters.tsx";
import { Notice } from "../../views/components/notice.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { PageLinks } from "../../views/components/page_links.tsx";
import { ApiKeyTable, type KeyLineRow } from "../../views/keys/api_key_table.tsx";
import { NewApiKeyForm } from "../../views/keys/new_api_key_form.tsx";
import { type PortalFrame, PortalPage } from "../../views/layout.tsx";
import type { App, AppContext } from "../env.ts";
import { keyRevocationPages } from "./api_key_revocations.tsx";
import { flashAbout, flashOf, queryOf, type Viewer } from "../portal/form.ts";
import { inTime } from "../portal/in_time.ts";
import { accessErrors, newKeyValues } from "./key_form.ts";
import { withUsage } from "./key_report.ts";
import { mountPage, type Pages } from "../portal/noun_pages.ts";
import type { PortalParts } from "../portal/page.ts";
import { organizationNounPages } from "../portal/viewer.ts";

const path = "/api-keys";

export function apiKeyListPages(app: App, parts: PortalParts): void {
  const pages = organizationNounPages(app, parts, { place: "api-keys", path, label: "API keys" });
  mountPage(pages, path, async (c, { actor }) => apiKeysPage(await readKeys(c, parts, actor)));
  keyRevocationPages(pages, parts);
}

async function readKeys(c: AppContext, parts: PortalParts, { access, frame }: Viewer) {
  const { services } = parts;
  const { timezone } = presentation();
  const query = { ...listQuery(c), timezone };
  const list = await inTime((signal) => listKeyLines(services, access, { query, signal }));
  // Keys can be revoked while reports are busy.
  const lines = list?.lines ?? await listNewestKeys(services, access);
  return {
    frame,
    lines: list === null
      ? lines.map((line): KeyLineRow => ({ ...line, usage: "unavailable", lastUsageAt: null }))
      : await withUsage(parts, access, { lines, timezone }),
    /** Null when it is not available, and the lines are those of the newest keys. */
    list: list &&
      { ...list, href: frame.base + path, state: query.state, isSorted: query.order !== undefined },
    flash: await flash(parts, c, access),
  };
}

type Keys = Awaited<ReturnType<typeof readKeys>>;
type KeyList = NonNullable<Keys["list"]>;

function listQuery(c: AppContext): KeyListQuery {
  const page = Number(c.req.query("page"));
  return {
    state: keyStates.find((state) => state === c.req.query("status")) ?? "active",
    environment: environments.find((one) => one === c.req.query("environment")) ?? null,
    search: (c.req.query("search") ?? "").slice(0, searchCharactersMax),
    order: keyOrders.find((order) => order === c.req.query("sort")),
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
  };
}

async function flash({ services }: PortalParts, c: AppContext, access: Access): Promise<string | null> {
  const count = Number(queryOf(c, "count"));
  const revoked = (noun: string) =>
    `${Number.isSafeInteger(count) ? countOf(count, noun) : `Some ${noun}s`} ${
      count === 1 ? "has" : "have"
    } been revoked.`;
  return await flashAbout(c, {
    revoked: async (id) => `“${(await getApiKey(services, access, id)).name}” has been revoked.`,
  }) ?? flashOf(c, {
    "revoked-unused": revoked("unused key"),
    "revoked-selected": revoked("key"),
    "revoked-some": `${revoked("key")} The others were already inactive.`,
    "revoked-none": "No active keys were selected.",
  });
}

function apiKeysPage(props: Keys) {
  const { frame, list, lines } = props;
  const isEmpty = list?.isEmpty ?? lines.length === 0;
  return (
    <PortalPage title="API keys" frame={frame} place="api-keys">
      <PageHead
        title="API keys"
        text={`${
          managesAllKeys(frame) ? "" : "Your keys. Admins can see everyone’s. "
        }Use API keys to record and read usage. Each key is shown only once; revoked keys stop working immediately.`}
        keepsActions
      >
        {!isEmpty && !frame.isReadOnly && (
          <ButtonLink tone="primary" href={`${frame.base}/api-keys/new`}>
            <Icon name="plus" />
            Create key
          </ButtonLink>
        )}
      </PageHead>
      <Notice tone="done" text={props.flash} />
      {isEmpty && (frame.viewed !== null || frame.isReadOnly)
        ? <NoKeys frame={frame} />
        : isEmpty
        ? (
          <NewApiKeyForm
            frame={frame}
            values={newKeyValues()}
            fields={{}}
            accessErrors={accessErrors({})}
            message={null}
          />
        )
        : list === null
        ? (
          <ListCard
            label="Keys"
            footer={<ListFooter lines={lines} text={countOf(lines.length, "newest key")} />}
          >
            <p class="hint-line">Search, counts and usage are not available right now.</p>
            <ApiKeyTable frame={frame} lines={lines} areInactive={false} />
          </ListCard>
        )
        : <KeyListCard {...props} list={list} />}
    </PortalPage>
  );
}

/** For operators, who authenticate before they fill in the form. */
function NoKeys({ frame: { base, isReadOnly } }: { frame: PortalFrame }) {
  return (
    <div class="card">
      {isReadOnly
        ? <EmptyState title="No API keys yet" text="Members create keys here." />
        : (
          <EmptyState title="No API keys yet" text="Members create keys, and so can you.">
            <ButtonLink tone="primary" href={`${base}/api-keys/new`}>Create key</ButtonLink>
          </EmptyState>
        )}
    </div>
  );
}

function KeyListCard({ frame, list, lines }: Keys & { list: KeyList }) {
  const { state, search, environment, order } = list;
  const isSelectable = state !== "inactive" && !frame.isReadOnly;
  const hrefOf = (order: KeyOrder) => hrefTo(list, { order });
  return (
    <ListCard
      label="Keys"
      tabs={
        <Tabs
          label="Status"
          tabs={keyStates.map((tab) => ({
            href: hrefTo({ ...list, isSorted: false }, { state: tab }),
            label: stateWords[tab],
            count: list.counts[tab],
            isAtLeast: tab === "inactive" && list.counts.isCut,
            isCurrent: tab === state,
          }))}
        />
      }
      tools={
        <>
          <SearchBox
            action={list.href}
            search={search}
            searches="name or prefix"
            hidden={{
              ...state !== "active" && { status: state },
              environment,
              ...list.isSorted && { sort: order },
            }}
          />
          <EnvironmentMenu
            chosen={environment}
            hrefOf={(environment) => hrefTo({ ...list, environment }, {})}
          />
          <SortMenu
            orders={Object.entries(orderWords(state)).map(([name, label]) => ({
              href: hrefOf(name as KeyOrder),
              label,
              isCurrent: name === order,
            }))}
          />
        </>
      }
      footer={
        <ListFooter
          lines={lines}
          text={lines.length === 0 ? "" : countText(list)}
          pages={<Pages list={list} />}
        />
      }
    >
      <Hints list={list} frame={frame} />
      {lines.length === 0
        ? <NoLines list={list} />
        : (
          <Selection href={isSelectable ? `${list.href}/revoke` : null}>
            <ApiKeyTable
              frame={frame}
              lines={lines}
              areInactive={state === "inactive"}
              isSelectable={isSelectable}
              sorting={{ order, hrefOf }}
            />
          </Selection>
        )}
    </ListCard>
  );
}

/** The bar with the button appears when a checkbox is checked. `href`: the page that confirms; null if nothing can be selected. */
function Selection({ href, children }: { href: string | null; children: Child }) {
  if (href === null) return <>{children}</>;
  return (
    <form class="selection" method="get" action={href}>
      {children}
      <div class="selection-bar">
        <button type="button" class="button quiet with-scripts" data-select-all>
          Select all on this page
        </button>
        <SubmitButton tone="plain-destroy">Revoke selected keys…</SubmitButton>
      </div>
    </form>
  );
}

const stateWords: Readonly<Record<KeyState, string>> = {
  active: "Active",
  expiring: "Expiring",
  inactive: "Inactive",
};

function orderWords(state: KeyState): Record<KeyOrder, string> {
  return {
    usage: "Usage, 30 days",
    used: "Last request",
    created: "Created",
    name: "Name",
    end: state === "inactive" ? "Ended" : "Expires",
  };
}

/** Returns the address of the list with other choices, of its first page unless one is given. */
function hrefTo(
  { href, state, search, environment, order, isSorted }: Pick<
    KeyList,
    "href" | "state" | "search" | "environment" | "order" | "isSorted"
  >,
  other: { state?: KeyState; order?: KeyOrder; search?: string; page?: number },
): string {
  const status = other.state ?? state;
  return listHref(href, {
    status: status === "active" ? null : status,
    search: other.search ?? search,
    environment,
    sort: other.order ?? (isSorted ? order : null),
    page: other.page === undefined || other.page === 1 ? null : String(other.page),
  });
}

function Hints({ list, frame: { viewed, isReadOnly } }: { list: KeyList; frame: PortalFrame }) {
  const { state, search, unused, limit } = list;
  if (search !== "") {
    return (
      <HintLine
        text={
          <>
            {`${countOf(list.counts[state], "key")} found for `}
            “<bdi>{search}</bdi>”
          </>
        }
        href={hrefTo(list, { search: "" })}
        action="Clear search"
      />
    );
  }
  if (state !== "active") return null;
  return (
    <>
      {limit !== null && limit.active >= limit.max && (
        <p class="hint-line">
          {`Limit reached: ${viewed === null ? "your" : "this"} organization can have ${
            countOf(limit.max, "active key")
          }. Revoke one to create another.`}
        </p>
      )}
      {unused > 0 && !isReadOnly && (
        <HintLine
          text={`${countOf(unused, "key")} ${
            unused === 1 ? "has" : "have"
          } had no requests and no usage for 90 days.`}
          href={`${list.href}/revoke-unused`}
          action="Review and revoke"
        />
      )}
    </>
  );
}

function NoLines({ list }: { list: KeyList }) {
  const { state, search, environment } = list;
  if (environment !== null) {
    return (
      <EmptyState
        title={`No ${environment} keys found`}
        text="Show keys of both environments, or create one."
      >
        <ButtonLink href={hrefTo({ ...list, environment: null }, {})}>Show all keys</ButtonLink>
      </EmptyState>
    );
  }
  if (search !== "") {
    return (
      <EmptyState
        title="No keys found"
        text="Search by name or by the first characters of a key."
      />
    );
  }
  if (state === "expiring") {
    return <EmptyState title="No keys expire soon" text="Keys that expire within 14 days appear here." />;
  }
  if (state === "inactive") {
    return <EmptyState title="No inactive keys" text="Revoked and expired keys appear here." />;
  }
  return <EmptyState title="No active keys" text="Create a key to record usage again." />;
}

function countText({ state, counts, page, pages, limit, search }: KeyList): string {
  const words = `${state} ${counts[state] === 1 ? "key" : "keys"}`;
  const all = groupDigits(counts[state]);
  const shown = pages === 1
    ? all
    : `${groupDigits((page - 1) * keyListPageItems + 1)}–${
      groupDigits(Math.min(page * keyListPageItems, counts[state]))
    } of ${all}`;
  const isCut = state === "inactive" && counts.isCut;
  if (isCut && search === "") return `${shown} of the ${groupDigits(listedKeysMax)} keys that ended last`;
  const max = state === "active" && limit !== null ? ` · limit ${groupDigits(limit.max)}` : "";
  return `${shown} ${words}${max}`;
}

function Pages({ list }: { list: KeyList }) {
  const { page, pages } = list;
  return (
    <PageLinks
      links={[
        { href: page > 1 ? hrefTo(list, { page: page - 1 }) : null, label: "Previous" },
        { href: page < pages ? hrefTo(list, { page: page + 1 }) : null, label: "Next" },
      ]}
    />
  );
}

function ListFooter({ lines, text, pages }: { lines: readonly KeyLineRow[]; text: string; pages?: Child }) {
  const tags = [...new Set(lines.map(({ keyPrefix }) => tagOf(keyPrefix)))].filter((tag) => tag !== "")
    .sort();
  return (
    <>
      <span data-announce={text || "No keys"}>{text}</span>
      {pages ?? null}
      {tags.length > 0 && (
        <span>
          Keys start with {tags.map((tag, index) => (
            <>
              {index > 0 && " or "}
              <code>{tag}</code>
            </>
          ))}
        </span>
      )}
    </>
  );
}
