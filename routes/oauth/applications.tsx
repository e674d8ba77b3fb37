// A person's own page of applications to which they gave access.
import { listApplications, removeApplication } from "../../services/oauth/mod.ts";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { ItemTable } from "../../views/components/item_table.tsx";
import { ListPage } from "../../views/components/list_page.tsx";
import { DayTime, TimeCell } from "../../views/components/relative_time.tsx";
import { Name } from "../../views/components/table.tsx";
import { notFoundError } from "../../domain/errors.ts";
import { isoTime } from "../../domain/time.ts";
import type { App } from "../env.ts";
import { flashOf } from "../portal/form.ts";
import { mountFormPage, mountPage, ownPages, paramOf } from "../portal/noun_pages.ts";
import type { PortalParts } from "../portal/page.ts";

const path = "/portal/account/applications";

export function applicationPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const back = { href: path, label: "Applications" };
  const pages = ownPages(app, parts, { place: "account", back });

  mountPage(pages, path, async (c, { actor, ...page }) => {
    const applications = await listApplications(services, actor);
    const { now } = page.frame;
    return (
      <ListPage
        {...page}
        back={{ href: "/portal/account", label: "Account" }}
        title="Applications"
        text="Applications with access to your account."
        flash={flashOf(c, { removed: "Access removed. The application's tokens no longer work." })}
        add={{ href: "/device", label: "Connect a device" }}
        card="Newest first"
        empty={applications.length === 0
          ? {
            title: "No applications yet",
            text: "Applications appear here after they sign you in.",
          }
          : null}
        links={[]}
      >
        <ItemTable
          label="Applications"
          items={applications}
          columns={[
            {
              title: "Application",
              in: "title",
              cell: ({ name, hosts }) => (
                <>
                  <Name text={name} />
                  <div class="muted tiny">{hosts.join(", ")}</div>
                </>
              ),
            },
            {
              title: "Access",
              cell: ({ resourceName, scopes }) => (
                <span>{[...resourceName === null ? [] : [resourceName], scopes.join(", ")].join(": ")}</span>
              ),
            },
            {
              title: "Organization",
              cell: ({ organizationName }) => <span>{organizationName ?? "None"}</span>,
            },
            { title: "Allowed", cell: ({ allowedAt }) => <DayTime at={isoTime(allowedAt)} now={now} /> },
            {
              title: "Last used",
              cell: ({ lastUsedAt }) => (
                <TimeCell at={lastUsedAt === null ? null : isoTime(lastUsedAt)} now={now} />
              ),
            },
          ]}
          actions={({ id, name }) => [
            {
              label: "Remove access",
              href: `${path}/${id}/remove`,
              about: name,
              tone: "quiet-destroy",
            },
          ]}
        />
      </ListPage>
    );
  });

  mountFormPage(pages, {
    path: `${path}/:id/remove`,
    async show(c, { field: _field, ...form }, session) {
      const found = (await listApplications(services, session)).find(({ id }) => id === paramOf(c, "id"));
      if (found === undefined) throw notFoundError();
      const { name, hosts, asks } = found;
      return (
        <ConfirmPage
          {...form}
          title="Remove access"
          heading="Remove the access of “{name}”?"
          name={name}
          text={`Its tokens stop working immediately, for all your organizations. ${
            asks
              ? "It asks again the next time you sign in to it."
              : "It gets access again when you sign in to it, without asking: the people who run this service trust it."
          }`}
          facts={[{ label: "Host", value: hosts.join(", ") }]}
          submit="Remove access"
        />
      );
    },
    async submit(c, session) {
      await removeApplication(services, session, paramOf(c, "id"));
      return `${path}?done=removed`;
    },
  });
}
