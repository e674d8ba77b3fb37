// The page of an organization's API keys: the list, or the form that creates the first one.
import type { Child } from "hono/jsx";
import { tagOf } from "../../domain/keys/api_key.ts";
import {
  type KeyListPage,
  keyListPageItems,
  type KeyOrder,
  type KeyState,
  keyStates,
  listedKeysMax,
} from "../../domain/keys/key_list.ts";
import { countOf, groupDigits } from "../../domain/number_text.ts";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { EnvironmentMenu } from "../components/environment.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { Icon } from "../components/icon.tsx";
import { managesAllKeys } from "../components/key_name.tsx";
import { HintLine, ListCard, SearchBox, SortMenu, Tabs } from "../components/list_card.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { PageLinks } from "../components/page_links.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { listHref } from "../components/list_filters.tsx";
import { ApiKeyTable, type KeyLineRow } from "./api_key_table.tsx";
import { NewApiKeyForm, type NewKeyValues } from "./new_api_key.tsx";

interface KeyListProps extends KeyListPage {
  readonly href: string;
  readonly state: KeyState;
  /** True if the order was chosen. */
  readonly isSorted: boolean;
}

interface ApiKeysPageProps {
  readonly frame: PortalFrame;
  readonly lines: readonly KeyLineRow[];
  /** Null when it is not available, and the lines are those of the newest keys. */
  readonly list: KeyListProps | null;
  /** For the form that creates the first key. */
  readonly newKey: NewKeyValues;
  readonly flash: string | null;
}

export function apiKeysPage(props: ApiKeysPageProps): Page {
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
        ? <NewApiKeyForm frame={frame} values={props.newKey} fields={{}} message={null} />
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

function KeyListCard({ frame, list, lines }: ApiKeysPageProps & { list: KeyListProps }) {
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
    KeyListProps,
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

function Hints({ list, frame: { viewed, isReadOnly } }: { list: KeyListProps; frame: PortalFrame }) {
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

function NoLines({ list }: { list: KeyListProps }) {
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

function countText({ state, counts, page, pages, limit, search }: KeyListProps): string {
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

function Pages({ list }: { list: KeyListProps }) {
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
