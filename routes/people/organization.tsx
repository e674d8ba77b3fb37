// The active organization: its page with the form that renames it, and the pages to leave, transfer or delete it. The API of
// organizations is in own_organizations.tsx.
import { validationError } from "../../domain/errors.ts";
import { nameCharactersMax, pageItemsMax } from "../../domain/limits.ts";
import { countOf, groupDigits } from "../../domain/number_text.ts";
import type { Member, Organization } from "../../domain/organization.ts";
import { accessTo } from "../../services/access/mod.ts";
import { countActiveApiKeys } from "../../services/keys/mod.ts";
import {
  companySignIn,
  countMembers,
  deleteOrganization,
  getMember,
  getOrganization,
  listMembers,
  removeMember,
  renameOrganization,
  transferOrganization,
} from "../../services/people/mod.ts";
import { ActionsCard, type PageAction } from "../../views/components/actions_card.tsx";
import { ButtonLink, SubmitButton } from "../../views/components/button.tsx";
import { Card } from "../../views/components/card.tsx";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { EmptyState } from "../../views/components/empty_state.tsx";
import { Facts } from "../../views/components/facts.tsx";
import { NameField, RadioGroup } from "../../views/components/field.tsx";
import { RowForm } from "../../views/components/form.tsx";
import type { PageForm } from "../../views/components/form_page.tsx";
import { Notice } from "../../views/components/notice.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { PageLinks } from "../../views/components/page_links.tsx";
import { DayTime } from "../../views/components/relative_time.tsx";
import { PortalPage } from "../../views/layout.tsx";
import { companySignInLink } from "../../views/people/company_sign_in.tsx";
import { asRole, roleWords, yourRoleSentences } from "../../views/text/role.ts";
import { readFormBody } from "../body.ts";
import type { App, AppContext } from "../env.ts";
import { flashAbout, newForm, queryOf, submitForm } from "../portal/form.ts";
import { mountFormPage, type Pages, shownForm } from "../portal/noun_pages.ts";
import { mountOwnerForm, ownerPages } from "./owner_pages.ts";
import { home, organizationsHome, type PortalParts, redirect, sendPage } from "../portal/page.ts";
import { memberPages, type MemberViewer, nounPagesOf } from "../portal/viewer.ts";
import { check } from "../schemas/check.ts";
import { aboutMember, membersBack, membersHref } from "./members.tsx";
import { organizationNameSchema } from "./own_organizations.tsx";

const path = "/organization";

export function organizationPages(app: App, parts: PortalParts): void {
  const routes = memberPages(app, parts);
  const back = { href: home + path, label: "Organization" };
  ownPage(nounPagesOf(routes, { place: "organization", backOf: () => back }), parts);
  leavePage(nounPagesOf(routes, { place: "members", backOf: membersBack }), parts);
  const pages = ownerPages(app, parts, back);
  transferPage(pages, parts);
  deletePage(pages, parts);
}

function ownPage(pages: Pages<MemberViewer>, { services }: PortalParts): void {
  mountFormPage(pages, {
    path,
    async show(c, form, { access }) {
      const [organization, counts, sso] = await Promise.all([
        getOrganization(services, access),
        countMembers(services, access),
        companySignIn.summarizeCompanySignIn(services, access),
      ]);
      const flash = await flashAbout(c, {
        renamed: () => `Renamed to “${organization.name}”.`,
        transferred: async (userId) => {
          const { user } = await getMember(services, access, userId);
          return `${user.name} is now an owner, and you are an admin.`;
        },
      });
      return organizationPage(form, { organization, isOnlyOwner: counts.OWNER === 1, sso, flash });
    },
    async submit(c, { access }, input) {
      const { name } = check(organizationNameSchema, { name: input["name"] ?? "" }, "body");
      await renameOrganization(services, access, name);
      return redirect(c, `${home}${path}?done=renamed`, { frameChanges: true });
    },
  });
}

interface Shown {
  readonly organization: Organization;
  readonly sso: { readonly isOn: boolean; readonly isRequired: boolean; readonly domains: readonly string[] };
  /** True if it has one owner, who can't leave. */
  readonly isOnlyOwner: boolean;
  readonly flash: string | null;
}

function organizationPage(form: PageForm, shown: Shown) {
  const { frame, place, field } = form;
  const { name, role, createdAt, memberCount, id } = shown.organization;
  return (
    <PortalPage title="Organization" frame={frame} place={place}>
      <PageHead title="{name}" name={name} text={`You are ${asRole(role)}. ${yourRoleSentences[role]}`} />
      <Notice tone="done" text={shown.flash} />
      <Card title="Name">
        {role === "OWNER"
          ? (
            <RowForm action={form.action} error={form.error} hidden={form.hidden} hasOneField>
              <NameField
                label="Organization name"
                {...field("name", name)}
                hint="Shown to members, in invitations and in the audit log."
                autocomplete="organization"
              />
              <SubmitButton>Rename</SubmitButton>
            </RowForm>
          )
          : (
            <NameField
              label="Organization name"
              value={name}
              hint="Only owners can change it."
              autocomplete="off"
              readonly
            />
          )}
      </Card>
      <Card title="Details" flush>
        <Facts
          facts={[
            { label: "Created", value: <DayTime at={createdAt} now={frame.now} /> },
            { label: "Members", value: <a href={membersHref}>{groupDigits(memberCount)}</a> },
            { label: "Single sign-on", value: <SingleSignOn {...shown} /> },
            { label: "ID", value: <code class="pick">{id}</code> },
          ]}
        />
      </Card>
      <DangerZone {...shown} />
    </PortalPage>
  );
}

/** Others than owners see whether it is on. */
function SingleSignOn({ organization: { role }, sso: { isOn, isRequired, domains } }: Shown) {
  const state = isRequired ? "Required" : isOn ? "On" : "Off";
  const text = isOn && domains.length > 0 ? `${state} for ${domains.join(", ")}` : state;
  return role === "OWNER" ? <a href={companySignInLink.href}>{isOn ? text : "Set up"}</a> : <>{text}</>;
}

function DangerZone({ organization: { role, memberCount }, isOnlyOwner }: Shown) {
  const isOwner = role === "OWNER";
  const canLeave = !isOwner || !isOnlyOwner;
  const leave: PageAction = {
    title: "Leave",
    text: canLeave ? "You lose access immediately. The keys that you created here are revoked." : onlyOwner,
    href: canLeave ? `${membersHref}/leave` : null,
    label: "Leave",
    tone: "plain-destroy",
  };
  const ofOwners: readonly PageAction[] = [{
    title: "Transfer ownership",
    text: "Another member becomes an owner, and you become an admin.",
    ...(memberCount > 1
      ? { href: `${home}${path}/transfer`, label: "Choose a member" }
      : { href: membersHref, label: "Invite a member first" }),
  }, {
    title: "Delete",
    text: "Permanently deletes the organization with all its data. Keys stop working immediately.",
    href: `${home}${path}/delete`,
    label: "Delete",
    tone: "plain-destroy",
  }];
  return <ActionsCard title="Danger zone" actions={isOwner ? [leave, ...ofOwners] : [leave]} />;
}

const onlyOwner = "You are the only owner. Make another member an owner first, or delete the organization.";

function leavePage(pages: Pages<MemberViewer>, { services }: PortalParts): void {
  async function show(c: AppContext, viewer: MemberViewer, state = newForm): Promise<Response> {
    const { access } = viewer;
    const [member, counts] = await Promise.all([
      getMember(services, access, access.actor.user.id),
      countMembers(services, access),
    ]);
    const form = shownForm(pages, viewer, { ...newForm, action: `${membersHref}/leave` });
    const isLastOwner = member.role === "OWNER" && counts.OWNER === 1;
    const error = state.message ?? (isLastOwner ? onlyOwner : null);
    return await sendPage(c, leavePageOf({ ...form, error }, member), state.status);
  }

  pages.get("/members/leave", (c, viewer) => show(c, viewer));
  pages.post("/members/leave", async (c, { access: active, frame }) => {
    const { actor } = active;
    const { organizationId = active.organizationId } = await readFormBody(c);
    const left = () => redirect(c, `${organizationsHome}?done=left`, { frameChanges: true });
    // The form was sent twice: another organization is active now, and must not be left.
    if (!actor.memberships.some((one) => one.organizationId === organizationId)) return left();
    const access = accessTo(actor, organizationId);
    return await submitForm(c, {
      async submit() {
        await removeMember(services, access, { userId: actor.user.id, keepKeys: false });
        return left();
      },
      showAgain: (state) => show(c, { access, frame }, state),
    });
  });
}

/** Asks for confirmation, or, with an `error`, says why the viewer can't leave. */
function leavePageOf({ error, ...form }: PageForm, member: Member) {
  const { frame, place } = form;
  const heading = "Leave “{name}”?";
  const name = frame.session.organization?.name ?? "";
  if (error === null) {
    const keys = countOf(member.activeApiKeys, "active key");
    return (
      <ConfirmPage
        {...form}
        facts={aboutMember(member, frame).facts}
        title="Leave organization"
        heading={heading}
        name={name}
        text={`You lose access immediately.${
          member.activeApiKeys === 0 ? "" : ` Your ${keys} will be revoked.`
        } To rejoin, you need an invitation.`}
      />
    );
  }
  return (
    <PortalPage title="Leave organization" frame={frame} place={place}>
      <div class="ask">
        <PageHead title={heading} name={name} />
        <Notice tone="error" text={error} />
        <div class="buttons">
          <ButtonLink href={membersHref}>Members</ButtonLink>
          <ButtonLink href={home + path}>Organization settings</ButtonLink>
        </div>
      </div>
    </PortalPage>
  );
}

function transferPage(pages: Pages<MemberViewer>, parts: PortalParts): void {
  const { services } = parts;
  const transferPath = `${path}/transfer`;
  mountOwnerForm(pages, parts, {
    path: transferPath,
    async show(c, form, { access }) {
      const { members, nextCursor } = await listMembers(services, access, {
        limit: pageItemsMax,
        cursor: queryOf(c, "cursor"),
      });
      return transferForm(form, {
        name: access.organizationName,
        members: members.filter(({ user }) => user.id !== access.actor.user.id),
        nextHref: nextCursor && `${home}${transferPath}?cursor=${nextCursor}`,
      });
    },
    async submit(c, { access }, { userId = "" }) {
      if (userId === "") throw validationError([{ path: "userId", message: "Choose the new owner." }]);
      await transferOrganization(services, access, userId);
      return redirect(c, `${home}${path}?done=transferred&id=${userId}`, { frameChanges: true });
    },
  });
}

function transferForm(
  { field, ...form }: PageForm,
  { name, members, nextHref }: { name: string; members: readonly Member[]; nextHref: string | null },
) {
  const { frame, place, back } = form;
  const title = "Transfer ownership";
  const heading = "Transfer ownership of “{name}”";
  if (members.length === 0 && nextHref === null) {
    return (
      <PortalPage title={title} frame={frame} place={place}>
        <div class="ask">
          <PageHead back={back} title={heading} name={name} />
          <div class="card">
            <EmptyState title="No one else here yet" text="Invite a member first, and wait until they join.">
              <ButtonLink tone="primary" href={membersHref}>Invite a member</ButtonLink>
            </EmptyState>
          </div>
        </div>
      </PortalPage>
    );
  }
  return (
    <ConfirmPage
      {...form}
      title={title}
      heading={heading}
      name={name}
      text="The new owner can do everything. You become an admin, and only an owner can undo this."
      facts={[{ label: "Your role", value: "Owner → Admin" }]}
      submit="Transfer ownership"
      after={<PageLinks links={[{ href: nextHref, label: "More members" }]} />}
    >
      <RadioGroup
        label="New owner"
        {...field("userId")}
        choices={members.map(({ user, role }) => ({
          value: user.id,
          label: user.name,
          hint: `${user.email} · ${roleWords[role]}`,
        }))}
      />
    </ConfirmPage>
  );
}

function deletePage(pages: Pages<MemberViewer>, parts: PortalParts): void {
  const { services } = parts;
  mountOwnerForm(pages, parts, {
    path: `${path}/delete`,
    async show(_c, { field, ...form }, { access }) {
      const [{ name, memberCount, createdAt }, activeApiKeys] = await Promise.all([
        getOrganization(services, access),
        countActiveApiKeys(services, access),
      ]);
      return (
        <ConfirmPage
          {...form}
          title="Delete organization"
          heading="Delete “{name}”?"
          name={name}
          text="This permanently deletes the organization for everyone. Requests with its keys will fail immediately, all members lose access, and all usage records are deleted. The sums of usage are deleted once they are billed, at the latest after 400 days. This can't be undone."
          facts={[
            { label: "Members", value: groupDigits(memberCount) },
            { label: "Active keys", value: groupDigits(activeApiKeys) },
            { label: "Created", value: <DayTime at={createdAt} now={form.frame.now} /> },
          ]}
        >
          <NameField
            label="Type the organization's name to confirm"
            {...field("name")}
            charactersMax={nameCharactersMax * 2}
            autofocus
          />
        </ConfirmPage>
      );
    },
    async submit(c, { access }, { name = "" }) {
      await deleteOrganization(services, access, name);
      return redirect(c, `${organizationsHome}?done=deleted`, { frameChanges: true });
    },
  });
}
