// The console's pages of what operators register for OAuth: a list, a form, what to set up elsewhere, a secret, and confirmations.
import type { Child } from "hono/jsx";
import { Badge } from "../../views/components/badge.tsx";
import { ButtonLink } from "../../views/components/button.tsx";
import { Card } from "../../views/components/card.tsx";
import { NewSecret } from "../../views/components/code.tsx";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { type Fact, Facts } from "../../views/components/facts.tsx";
import {
  type FormInput,
  FormPage,
  type FormPageProps,
  type PageForm,
} from "../../views/components/form_page.tsx";
import { type ItemColumn, ItemTable } from "../../views/components/item_table.tsx";
import { ListPage, type ListPageProps } from "../../views/components/list_page.tsx";
import { Notice } from "../../views/components/notice.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { DayTime } from "../../views/components/relative_time.tsx";
import { Name } from "../../views/components/table.tsx";
import { PortalPage } from "../../views/layout.tsx";
import type { AppContext } from "../env.ts";
import { flashOf, queryOf } from "../portal/form.ts";
import { mountFormPage, mountPage, type Pages, paramOf, withInput } from "../portal/noun_pages.ts";
import type { ConsoleActor } from "../portal/operator_page.ts";
import { sendPage } from "../portal/page.ts";

interface Registered {
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
}

/** The secret is null for public clients. */
interface WithSecret<Item> {
  readonly item: Item;
  readonly secret: string | null;
}

/** Applications or resources, with their verbs. */
export interface RegisteredNoun<Item extends Registered> {
  readonly path: string;
  /** In texts, such as `Application`. */
  readonly one: string;
  readonly most: number;
  readonly listAll: () => Promise<readonly Item[]>;
  readonly get: (id: string) => Promise<Item>;
  readonly create: (actor: ConsoleActor, input: FormInput) => Promise<WithSecret<Item>>;
  readonly change: (actor: ConsoleActor, id: string, input: FormInput) => Promise<unknown>;
  readonly rotate: (actor: ConsoleActor, id: string) => Promise<WithSecret<Item>>;
  readonly remove: (actor: ConsoleActor, id: string) => Promise<void>;
  /** `aside`: next to the button that adds one. `columns`: between the name and the time. */
  readonly list: Pick<ListPageProps, "back" | "text" | "links"> & {
    readonly aside?: Child;
    readonly empty: string;
    readonly columns: readonly ItemColumn<Item>[];
  };
  readonly isEnabled?: (item: Item) => boolean;
  readonly hasSecret: (item: Item) => boolean;
  /** Returns the values of the form, for a new one without an item. */
  readonly inputOf: (item?: Item) => FormInput;
  readonly form: (
    form: PageForm,
    item?: Item,
  ) => Promise<Pick<FormPageProps, "text" | "error" | "more" | "children">>;
  /** Introduces the page of one; `title`: of the card with its facts. */
  readonly text: string;
  readonly title: string;
  readonly facts: (item: Item) => readonly Fact[];
  /** Shows what to set up elsewhere. @param recipe The chosen one. */
  readonly setUp: (item: Item, recipe: string | undefined) => Child;
  /** Say what happens when the secret is rotated, when one is deleted, and what has ended then. */
  readonly rotation: string;
  readonly deletion: string;
  readonly ended: string;
  /** Tell one from others of the same name, on these two pages. */
  readonly idFact: (item: Item) => Fact;
  readonly addressFact: (item: Item) => Fact;
}

export function mountRegistered<Item extends Registered>(
  pages: Pages<ConsoleActor>,
  noun: RegisteredNoun<Item>,
): void {
  const { path, one } = noun;
  const show = itemPages(pages, noun);
  const idOf = (c: AppContext) => paramOf(c, "id");

  mountPage(pages, path, async (c, { frame, place }) => {
    const flash = flashOf(c, { deleted: `${one} deleted. ${noun.ended}` });
    return registeredList({ frame, place, flash }, noun, await noun.listAll());
  });

  mountFormPage(pages, {
    path: `${path}/new`,
    show: (_c, form) => formPage(noun, form),
    submit: async (c, actor, input) =>
      await sendPage(c, show(c, actor, await noun.create(actor, input)), 201),
  });

  mountPage(pages, `${path}/:id`, async (c, { actor }) => {
    const flash = flashOf(c, { saved: `${one} saved.` });
    return show(c, actor, { item: await noun.get(idOf(c)), flash });
  });

  mountFormPage(pages, {
    path: `${path}/:id/edit`,
    show: async (c, form) => formPage(noun, form, await noun.get(idOf(c))),
    async submit(c, actor, input) {
      await noun.change(actor, idOf(c), input);
      return `${path}/${idOf(c)}?done=saved`;
    },
  });

  mountFormPage(pages, {
    path: `${path}/:id/rotate`,
    async show(c, form) {
      const item = await noun.get(idOf(c));
      const heading = "Rotate the secret of “{name}”?";
      const about = { heading, name: item.name, text: noun.rotation, facts: [noun.idFact(item)] };
      return <ConfirmPage {...form} title="Rotate secret" {...about} />;
    },
    async submit(c, actor) {
      const rotated = await noun.rotate(actor, idOf(c));
      return await sendPage(c, show(c, actor, { ...rotated, isReplaced: true }), 201);
    },
  });

  mountFormPage(pages, {
    path: `${path}/:id/delete`,
    async show(c, form) {
      const item = await noun.get(idOf(c));
      const text = `${noun.deletion} This can't be undone.`;
      const about = { heading: "Delete “{name}”?", name: item.name, text, facts: [noun.addressFact(item)] };
      return <ConfirmPage {...form} title={`Delete ${one.toLowerCase()}`} {...about} />;
    },
    async submit(c, actor) {
      await noun.remove(actor, idOf(c));
      return `${path}?done=deleted`;
    },
  });
}

async function formPage<Item extends Registered>(noun: RegisteredNoun<Item>, form: PageForm, item?: Item) {
  const shown = withInput(form, form.input ?? noun.inputOf(item));
  const title = `${item === undefined ? "Add" : "Edit"} ${noun.one.toLowerCase()}`;
  const about = item === undefined
    ? { submit: title }
    : { heading: "Edit “{name}”", name: item.name, submit: "Save" };
  return <FormPage {...shown} title={title} {...about} {...await noun.form(shown, item)} />;
}

/** Returns a function that shows one, after it was created or its secret was rotated with the new secret. */
function itemPages<Item extends Registered>(pages: Pages<ConsoleActor>, noun: RegisteredNoun<Item>) {
  const { path } = noun;
  return (
    c: AppContext,
    actor: ConsoleActor,
    { item, secret = null, isReplaced = false, flash = null }:
      & Pick<WithSecret<Item>, "item">
      & Partial<WithSecret<Item> & { isReplaced: boolean; flash: string | null }>,
  ) => (
    <PortalPage title={item.name} frame={pages.frameOf(actor)} place={pages.place}>
      <PageHead back={pages.backOf(actor)} title="{name}" name={item.name} text={noun.text}>
        <ButtonLink href={`${path}/${item.id}/edit`}>Edit</ButtonLink>
        {noun.hasSecret(item) && <ButtonLink href={`${path}/${item.id}/rotate`}>Rotate secret</ButtonLink>}
      </PageHead>
      <Notice tone="done" text={flash} />
      {secret && <NewSecret what="secret" name={item.name} isReplaced={isReplaced} value={secret} />}
      <Card title={noun.title} flush>
        <Facts facts={noun.facts(item)} />
      </Card>
      {noun.setUp(item, queryOf(c, "recipe"))}
    </PortalPage>
  );
}

function registeredList<Item extends Registered>(
  page: Pick<ListPageProps, "frame" | "place" | "flash">,
  { path, one, most, list: { aside, empty, columns, ...about }, isEnabled }: RegisteredNoun<Item>,
  items: readonly Item[],
) {
  const add = { href: `${path}/new`, label: `Add ${one.toLowerCase()}` };
  return (
    <ListPage
      {...page}
      {...about}
      title={`${one}s`}
      add={add}
      actions={aside && (
        <>
          {aside}
          {items.length > 0 && <ButtonLink tone="primary" href={add.href}>{add.label}</ButtonLink>}
        </>
      )}
      card={items.length === most ? `All ${most}, newest first` : "Newest first"}
      empty={items.length === 0 ? { title: `No ${one.toLowerCase()}s yet`, text: empty } : null}
    >
      <ItemTable
        label={`${one}s`}
        items={items}
        columns={[
          {
            title: one,
            in: "title",
            cell: ({ id, name }) => (
              <a href={`${path}/${id}`}>
                <Name text={name} />
              </a>
            ),
          },
          ...columns,
          { title: "Added", cell: ({ createdAt }) => <DayTime at={createdAt} now={page.frame.now} /> },
          ...isEnabled === undefined ? [] : [{
            title: "Status",
            in: "state" as const,
            cell: (item: Item) => <EnabledBadge isEnabled={isEnabled(item)} />,
          }],
        ]}
        isOver={(item) => isEnabled?.(item) === false}
        actions={({ id, name }) => [
          { label: "Edit", href: `${path}/${id}/edit`, about: name },
          { label: "Delete", href: `${path}/${id}/delete`, about: name, tone: "quiet-destroy" },
        ]}
      />
    </ListPage>
  );
}

export const EnabledBadge = ({ isEnabled }: { isEnabled: boolean }) =>
  isEnabled ? <Badge tone="on">Enabled</Badge> : <Badge tone="off">Disabled</Badge>;
