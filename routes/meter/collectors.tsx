// The console's pages about collectors: mappings, subjects, and events that were not recorded.
import { AppError, validationError } from "../../domain/errors.ts";
import { mappingPresets } from "../../domain/meter/mapping_presets.ts";
import { countOf, groupDigits } from "../../domain/number_text.ts";
import {
  changeMapping,
  countLostEvents,
  createMapping,
  deleteMapping,
  getMapping,
  listEventFaults,
  listMappings,
  listSubjects,
  type ShownFault,
  type ShownMapping,
  type ShownSubject,
  type TriedMapping,
  tryMapping,
} from "../../services/meter/mod.ts";
import { ButtonLink } from "../../views/components/button.tsx";
import { Card } from "../../views/components/card.tsx";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { EmptyState } from "../../views/components/empty_state.tsx";
import { TextArea } from "../../views/components/field.tsx";
import { type FormInput, FormPage, type PageForm } from "../../views/components/form_page.tsx";
import { ItemTable } from "../../views/components/item_table.tsx";
import { listHref } from "../../views/components/list_filters.tsx";
import { Notice } from "../../views/components/notice.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { PageLinks } from "../../views/components/page_links.tsx";
import { RelativeTime } from "../../views/components/relative_time.tsx";
import { Name } from "../../views/components/table.tsx";
import { PortalPage } from "../../views/layout.tsx";
import { parseJson } from "../body.ts";
import type { App, AppContext } from "../env.ts";
import { flashOf, newForm } from "../portal/form.ts";
import { mountFormPage, mountPage, type Pages, paramOf, shownForm } from "../portal/noun_pages.ts";
import { type ConsoleActor, consolePages } from "../portal/operator_page.ts";
import { type PortalParts, sendPage } from "../portal/page.ts";
import { check } from "../schemas/check.ts";
import { mappingForm, mappingInput } from "./collector_form.tsx";
import { subjectPages } from "./collector_subjects.tsx";
import * as schemas from "./schemas/event_mappings.ts";

const path = "/operator/collectors";
const mappingsPath = `${path}/mappings`;
const subjectsPath = `${path}/subjects`;
const itemsOfPage = 10;
/** A name of free text. */
const eventField = "data";
const flashes = {
  added: "Mapping added.",
  saved: "Mapping saved.",
  deleted: "Mapping deleted.",
  assigned: "Subject assigned. Its kept events are recorded within seconds.",
  discarded: "Kept events discarded.",
  ended: "Assignment ended. Later events of this subject are kept.",
};

type CollectorPages = Pages<ConsoleActor>;

export function collectorPages(app: App, parts: PortalParts): void {
  const pages = consolePages(app, parts, "operator/collectors");
  overviewPage(pages, parts);
  mappingPages(pages, parts);
  subjectPages(pages, parts);
}

function overviewPage(pages: CollectorPages, { services }: PortalParts): void {
  mountPage(pages, path, async (c, { frame, place }) => {
    const [mappings, subjects, faults, lost] = await Promise.all([
      listMappings(services, { limit: itemsOfPage, cursor: c.req.query("mappings") }),
      listSubjects(services, { limit: itemsOfPage, cursor: c.req.query("subjects") }),
      listEventFaults(services, { limit: itemsOfPage, cursor: c.req.query("events") }),
      countLostEvents(services),
    ]);
    const { now } = frame;
    return (
      <PortalPage title="Collectors" frame={frame} place={place}>
        <PageHead
          title="Collectors"
          text="Gateways send the usage of many customers with one operator token. Mappings turn their events into records."
        >
          <ButtonLink tone="primary" href={`${mappingsPath}/new`}>Add mapping</ButtonLink>
        </PageHead>
        <Notice tone="done" text={flashOf(c, flashes)} />
        <Card title="Mappings" flush>
          <Mappings mappings={mappings.mappings} />
        </Card>
        <More name="mappings" label="More mappings" cursor={mappings.nextCursor} />
        <Card
          title="Subjects"
          flush
          aside={<ButtonLink href={`${subjectsPath}/assign`}>Assign subject</ButtonLink>}
        >
          <Subjects subjects={subjects.subjects} now={now} />
        </Card>
        {lost === 0 ? null : (
          <p class="muted small">
            {countOf(lost, "event")}{" "}
            of other subjects were lost, because too many were kept or because they were too large.
          </p>
        )}
        <More name="subjects" label="More subjects" cursor={subjects.nextCursor} />
        <Card title="Events that were not recorded" flush>
          <Faults faults={faults.faults} now={now} />
        </Card>
        <More name="events" label="Older events" cursor={faults.nextCursor} />
      </PortalPage>
    );
  });
}

function More({ name, label, cursor }: { name: string; label: string; cursor: string | null }) {
  return <PageLinks label={label} links={[{ href: cursor && listHref(path, { [name]: cursor }), label }]} />;
}

function Mappings({ mappings }: { mappings: readonly ShownMapping[] }) {
  if (mappings.length === 0) {
    return <EmptyState title="No mappings yet" text="Events of collectors are rejected until you add one." />;
  }
  return (
    <ItemTable
      label="Mappings"
      items={mappings}
      columns={[
        { title: "Name", in: "title", cell: ({ name }) => <Name text={name} /> },
        { title: "Type", cell: ({ type }) => <code>{type}</code> },
        { title: "Source", cell: ({ source }) => source === null ? <span>Any</span> : <code>{source}</code> },
        {
          title: "Records",
          cell: ({ metrics }) => (
            <span>{[...new Set(metrics.map((one) => `${one.productSlug} ${one.metric}`))].join(", ")}</span>
          ),
        },
      ]}
      actions={({ id, name }) => [
        { label: "Try", href: `${mappingsPath}/${id}/try`, about: name },
        { label: "Edit", href: `${mappingsPath}/${id}/edit`, about: name },
        { label: "Delete", href: `${mappingsPath}/${id}/delete`, about: name, tone: "quiet-destroy" },
      ]}
    />
  );
}

function Subjects({ subjects, now }: { subjects: readonly ShownSubject[]; now: number }) {
  if (subjects.length === 0) {
    const text = "Events that name no organization and no API key are kept here for 30 days.";
    return <EmptyState title="No unknown or assigned subjects" text={text} />;
  }
  return (
    <ItemTable
      label="Subjects"
      items={subjects}
      columns={[
        { title: "Subject", in: "title", cell: ({ subject }) => <Name text={subject} /> },
        {
          title: "Assigned to",
          cell: ({ organizationId, apiKeyId }) =>
            organizationId === null
              ? <span>Unknown</span>
              : <a href={`/operator/organizations/${organizationId}`}>{apiKeyId ?? organizationId}</a>,
        },
        { title: "Kept", isNumber: true, cell: ({ kept }) => groupDigits(kept) },
        { title: "Lost", isNumber: true, cell: ({ lost }) => groupDigits(lost) },
        { title: "First", cell: ({ firstAt }) => <RelativeTime at={firstAt} now={now} /> },
        { title: "Last", cell: ({ lastAt }) => <RelativeTime at={lastAt} now={now} /> },
      ]}
      actions={({ id, subject, organizationId }) => [
        { label: "Assign", href: listHref(`${subjectsPath}/assign`, { subject }), about: subject },
        {
          label: organizationId === null ? "Discard" : "End assignment",
          href: `${subjectsPath}/${id}/delete`,
          about: subject,
          tone: "quiet-destroy",
        },
      ]}
    />
  );
}

function Faults({ faults, now }: { faults: readonly ShownFault[]; now: number }) {
  if (faults.length === 0) {
    const text = "The last 1,000 events that can't be recorded appear here.";
    return <EmptyState title="No rejected events" text={text} />;
  }
  return (
    <ItemTable
      label="Events that were not recorded"
      items={faults}
      columns={[
        { title: "Event", in: "title", cell: ({ eventId }) => <Name text={eventId || "No id"} /> },
        {
          title: "Type and source",
          cell: ({ type, source }) => (
            <div>
              <code>{type || "–"}</code>
              <div class="muted tiny">{source || "–"}</div>
            </div>
          ),
        },
        { title: "Subject", cell: ({ subject }) => <bdi>{subject ?? "–"}</bdi> },
        { title: "Reason", cell: ({ path, message }) => <span>{`“${path}”: ${message}`}</span> },
        { title: "Received", cell: ({ at }) => <RelativeTime at={at} now={now} /> },
      ]}
    />
  );
}

function mappingPages(pages: CollectorPages, { services }: PortalParts): void {
  mountFormPage(pages, {
    path: `${mappingsPath}/new`,
    show(c, form) {
      const preset = c.req.query("preset") ?? "";
      const mapping = Object.hasOwn(mappingPresets, preset) ? mappingPresets[preset] : undefined;
      return mappingForm(form, { mapping, isNew: true, path: `${mappingsPath}/new` });
    },
    async submit(_c, actor, input) {
      await createMapping(services, actor, typedMapping(input));
      return `${path}?done=added`;
    },
  });
  mountFormPage(pages, {
    path: `${mappingsPath}/:id/edit`,
    show: async (c, form) =>
      mappingForm(form, { mapping: await getMapping(services, paramOf(c, "id")), isNew: false, path }),
    async submit(c, actor, input) {
      await changeMapping(services, actor, paramOf(c, "id"), typedMapping(input));
      return `${path}?done=saved`;
    },
  });
  mountFormPage(pages, {
    path: `${mappingsPath}/:id/delete`,
    async show(c, form) {
      const { name, type, source } = await getMapping(services, paramOf(c, "id"));
      return (
        <ConfirmPage
          {...form}
          title="Delete mapping"
          heading="Delete “{name}”?"
          name={name}
          text="Its events are rejected from now on. Recorded usage doesn't change. This can't be undone."
          facts={[
            { label: "Type", value: <code>{type}</code> },
            { label: "Source", value: source === null ? "Any" : <code>{source}</code> },
          ]}
        />
      );
    },
    async submit(c, actor) {
      await deleteMapping(services, actor, paramOf(c, "id"));
      return `${path}?done=deleted`;
    },
  });
  const showTry = async (c: AppContext, form: PageForm, tried?: TriedMapping) =>
    tryPage(form, await getMapping(services, paramOf(c, "id")), tried);
  mountFormPage(pages, {
    path: `${mappingsPath}/:id/try`,
    show: (c, form) => showTry(c, form),
    async submit(c, actor, input) {
      const tried = await tryTyped(services, paramOf(c, "id"), input[eventField] ?? "");
      const action = new URL(c.req.url).pathname;
      return await sendPage(
        c,
        await showTry(c, shownForm(pages, actor, { ...newForm, input, action }), tried),
      );
    },
  });
}

const typedMapping = (input: FormInput) =>
  schemas.newMapping(check(schemas.createMappingSchema, mappingInput(input), "body"));

/** Tries a mapping with what is typed, and shows all faults of the event at its field. */
async function tryTyped(services: PortalParts["services"], id: string, typed: string): Promise<TriedMapping> {
  try {
    return await tryMapping(
      services,
      id,
      check(schemas.collectedEventSchema, parseJson(typed, true), "body"),
    );
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "not_found") throw error;
    const details = error.details ?? [];
    const message = details.length === 0
      ? error.message
      : details.map(({ path, message }) => `“${path.replace(/^event\./, "")}” ${message}`).join(" ");
    throw validationError([{ path: eventField, message }]);
  }
}

function tryPage(form: PageForm, { name, type, source }: ShownMapping, tried: TriedMapping | undefined) {
  const example = {
    specversion: "1.0",
    type,
    source: source ?? "gateway",
    id: "1",
    subject: "customer-1",
    data: {},
  };
  return (
    <FormPage
      {...form}
      title="Try mapping"
      heading="Try “{name}”"
      name={name}
      text="Shows the records of an event. Nothing is recorded."
      submit="Try"
      more={tried === undefined ? [] : [
        <>
          <h2>Records</h2>
          <p class="muted small">
            Subject: <bdi>{tried.subject}</bdi>
          </p>
          <ItemTable
            label="Records"
            items={tried.records}
            columns={[
              { title: "Product", in: "title", cell: ({ productSlug }) => <Name text={productSlug} /> },
              { title: "Metric", cell: ({ metric }) => <code>{metric}</code> },
              { title: "Quantity", isNumber: true, cell: ({ quantity }) => groupDigits(quantity) },
              { title: "Properties", cell: ({ properties }) => <bdi>{propertiesText(properties)}</bdi> },
            ]}
          />
        </>,
      ]}
    >
      <TextArea
        label="Event"
        {...form.field(eventField, JSON.stringify(example, null, 2))}
        hint="A CloudEvent as JSON."
        rows={12}
        maxlength={65_536}
        required
        autofocus
      />
    </FormPage>
  );
}

const propertiesText = (properties: Readonly<Record<string, string>>) =>
  Object.entries(properties).map(([name, value]) => `${name} = ${value}`).join(", ") || "None";
