// The console's list of applications with metadata documents.
import { isoTime } from "../../domain/time.ts";
import {
  documentPeopleMax,
  endDocumentClient,
  getDocumentClient,
  listDocumentClients,
} from "../../services/oauth/mod.ts";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { ItemTable } from "../../views/components/item_table.tsx";
import { ListPage } from "../../views/components/list_page.tsx";
import { DayTime } from "../../views/components/relative_time.tsx";
import { Name } from "../../views/components/table.tsx";
import type { App } from "../env.ts";
import { flashOf, queryOf } from "../portal/form.ts";
import { mountFormPage, mountPage, paramOf } from "../portal/noun_pages.ts";
import { consolePages } from "../portal/operator_page.ts";
import type { PortalParts } from "../portal/page.ts";

export const documentsPath = "/operator/clients/documents";
const rowsMax = 50;

const peopleText = (people: number) => people < documentPeopleMax ? `${people}` : "1,000 or more";

export function documentPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const back = { href: "/operator/clients", label: "Applications" };
  const pages = {
    ...consolePages(app, parts, "operator/clients"),
    backOf: () => ({ href: documentsPath, label: "Published applications" }),
  };

  mountPage(pages, documentsPath, async (c, page) => {
    const cursor = queryOf(c, "cursor");
    const { clients, nextCursor } = await listDocumentClients(services, { limit: rowsMax, cursor });
    return (
      <ListPage
        {...page}
        back={back}
        title="Published applications"
        text="Applications that publish their own settings at a URL, on the hosts in OAUTH_CLIENT_HOSTS."
        flash={flashOf(c, { ended: "Access ended. People can allow the application again." })}
        card="Newest first"
        empty={clients.length === 0
          ? {
            title: "No published applications yet",
            text: "They appear here when they first ask someone for access.",
          }
          : null}
        links={[{ href: nextCursor && `${documentsPath}?cursor=${nextCursor}`, label: "Older" }]}
      >
        <ItemTable
          label="Published applications"
          items={clients}
          columns={[
            {
              title: "Application",
              in: "title",
              cell: ({ name, clientId }) => (
                <>
                  <Name text={name} />
                  <div class="muted tiny">{clientId}</div>
                </>
              ),
            },
            { title: "People", cell: ({ people }) => <span>{peopleText(people)}</span> },
            {
              title: "First seen",
              cell: ({ firstSeenAt }) => <DayTime at={isoTime(firstSeenAt)} now={page.frame.now} />,
            },
          ]}
          actions={({ id, name }) => [
            { label: "End access", href: `${documentsPath}/${id}/end`, about: name, tone: "quiet-destroy" },
          ]}
        />
      </ListPage>
    );
  });

  mountFormPage(pages, {
    path: `${documentsPath}/:id/end`,
    async show(c, { field: _field, ...form }) {
      const { name, clientId, people } = await getDocumentClient(services, paramOf(c, "id"));
      return (
        <ConfirmPage
          {...form}
          title="End access"
          heading="End the access of “{name}”?"
          name={name}
          text="All its tokens are rejected immediately. People can allow it again unless you remove its host from OAUTH_CLIENT_HOSTS."
          facts={[
            { label: "Client ID", value: <code>{clientId}</code> },
            { label: "People", value: peopleText(people) },
          ]}
          submit="End access"
        />
      );
    },
    async submit(c, actor) {
      await endDocumentClient(services, actor, paramOf(c, "id"));
      return `${documentsPath}?done=ended`;
    },
  });
}
