// The pages of an organization's single sign-on, for its owners; and the page of the console, where operators can stop requiring it.
import { notFoundError } from "../../domain/errors.ts";
import type { CompanyDomain, CompanySignIn } from "../../domain/people/company_sign_in.ts";
import { operatorAccess } from "../../services/access/mod.ts";
import {
  addCompanyDomain,
  beginProviderTest,
  checkCompanyProvider,
  type CompanyProviderInput,
  getCompanySignIn,
  putCompanyProvider,
  removeCompanyDomain,
  removeCompanyProvider,
  stopRequiringProvider,
  verifyCompanyDomain,
} from "../../services/people/mod.ts";
import { organizationHref, organizationsHref } from "../../views/components/links.ts";
import {
  companyDomainHref,
  companySignInLink,
  companySignInPage,
  companySignInPath as path,
} from "../../views/people/company_sign_in.tsx";
import * as forms from "../../views/people/company_sign_in_forms.tsx";
import type { App, AppContext } from "../env.ts";
import { companyDomainSchema, companyProviderSchema } from "./company_sign_in.ts";
import { check, checkTogether } from "../schemas/check.ts";
import { flashOf } from "../portal/form.ts";
import { mountFormPage, type Pages, paramOf } from "../portal/noun_pages.ts";
import { consolePages } from "../portal/operator_page.ts";
import { type PortalParts, sendPage } from "../portal/page.ts";
import { goToProvider } from "./go_to_provider.ts";
import { memberPages, type MemberViewer, nounPagesOf } from "../portal/viewer.ts";
import { askOwner, ownerPages } from "./owner_pages.ts";

const flashes = {
  saved: "Provider saved. Test it next.",
  added: "Domain added. Add its TXT record in DNS, then verify it.",
  verified: "Domain verified.",
  "domain-removed": "Domain removed.",
  require: "Single sign-on is now required.",
  stop: "Single sign-on is no longer required.",
  remove: "Provider removed.",
};

export function companySignInPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  memberPages(app, parts).get(path, async (c, { access, frame }) => {
    const sso = await getCompanySignIn(services, access);
    return await sendPage(c, companySignInPage({ frame, sso, flash: flashOf(c, flashes) }));
  });
  const pages = nounPagesOf(ownerPages(app, parts), {
    place: "organization",
    backOf: () => companySignInLink,
  });
  providerForms(pages, parts);
  domainForms(pages, parts);
  operatorForms(app, parts);
}

/** Mounts a form for owners who authenticated recently, also when it is sent. */
function mountOwnerForm(
  pages: Pages<MemberViewer>,
  parts: PortalParts,
  { submit, ...page }: Parameters<typeof mountFormPage<MemberViewer>>[1],
): void {
  mountFormPage(pages, {
    ...page,
    submit: async (c, viewer, input) => askOwner(c, parts, viewer) ?? await submit(c, viewer, input),
  });
}

function providerForms(pages: Pages<MemberViewer>, parts: PortalParts): void {
  const { services, config } = parts;
  const { href } = companySignInLink;
  mountOwnerForm(pages, parts, {
    path: `${path}/edit`,
    async show(_c, form, { access }) {
      const sso = await getCompanySignIn(services, access);
      return forms.companyProviderForm(form, { sso, daysMax: config.sessionMaxDays });
    },
    async submit(
      _c,
      { access },
      { issuer = "", clientId = "", clientSecret, role = "", sessionMaxDays = "" },
    ) {
      const { provider } = await getCompanySignIn(services, access);
      const given = {
        issuer,
        clientId,
        ...clientSecret ? { clientSecret } : {},
        role,
        // Other settings than tested ones can't be required, so saving them says so.
        enforced: provider?.enforced ?? false,
        sessionMaxDays: sessionMaxDays.trim() === "" ? null : Number(sessionMaxDays),
      };
      const checked = await checkTogether(
        () => check(companyProviderSchema, given, "body"),
        () => checkCompanyProvider(services, access, { before: provider, input: given }),
      );
      await putCompanyProvider(services, access, checked);
      return `${href}?done=saved`;
    },
  });
  for (const action of ["test", "require", "stop", "remove"] as const) {
    mountOwnerForm(pages, parts, {
      path: `${path}/${action}`,
      show: async (_c, form, { access }) =>
        forms.confirmCompanyAction(action, form, await requireProvider(parts, access)),
      async submit(c, { access }) {
        if (action === "test") {
          return await goToProvider(c, parts, (tokens) => beginProviderTest(services, access, tokens));
        }
        if (action === "remove") await removeCompanyProvider(services, access);
        else if (action === "stop") await stopRequiringProvider(services, access);
        else await putCompanyProvider(services, access, await withEnforcement(parts, access));
        return `${href}?done=${action}`;
      },
    });
  }
}

async function withEnforcement(
  parts: PortalParts,
  access: MemberViewer["access"],
): Promise<CompanyProviderInput> {
  const { provider: { testedAt: _tested, ...provider } } = await requireProvider(parts, access);
  return { ...provider, enforced: true };
}

async function requireProvider({ services }: PortalParts, access: Parameters<typeof getCompanySignIn>[1]) {
  const sso = await getCompanySignIn(services, access);
  if (sso.provider === null) throw notFoundError();
  return sso as CompanySignIn & { readonly provider: NonNullable<CompanySignIn["provider"]> };
}

function domainForms(pages: Pages<MemberViewer>, parts: PortalParts): void {
  const { services } = parts;
  const { href } = companySignInLink;
  mountOwnerForm(pages, parts, {
    path: `${path}/domains/new`,
    show: (_c, form) => forms.companyDomainForm(form),
    async submit(_c, { access }, { domain = "" }) {
      const input = check(companyDomainSchema, { domain }, "body");
      return companyDomainHref((await addCompanyDomain(services, access, input.domain)).domain, "verify");
    },
  });
  mountOwnerForm(pages, parts, {
    path: `${path}/domains/:domain/verify`,
    show: async (c, form, { access }) => forms.verifyDomainPage(form, await domainOf(c, parts, access)),
    async submit(c, { access }) {
      await verifyCompanyDomain(services, access, paramOf(c, "domain"));
      return `${href}?done=verified`;
    },
  });
  mountOwnerForm(pages, parts, {
    path: `${path}/domains/:domain/remove`,
    show: async (c, form, { access }) => forms.removeDomainPage(form, await domainOf(c, parts, access)),
    async submit(c, { access }) {
      await removeCompanyDomain(services, access, paramOf(c, "domain"));
      return `${href}?done=domain-removed`;
    },
  });
}

async function domainOf(
  c: AppContext,
  { services }: PortalParts,
  access: MemberViewer["access"],
): Promise<CompanyDomain> {
  const { domains } = await getCompanySignIn(services, access);
  const found = domains.find(({ domain }) => domain === paramOf(c, "domain"));
  if (found === undefined) throw notFoundError();
  return found;
}

function operatorForms(app: App, parts: PortalParts): void {
  const { services } = parts;
  mountFormPage(consolePages(app, parts, "operator/organizations"), {
    path: `${organizationsHref}/:id/single-sign-on`,
    async show(c, form, actor) {
      const access = await operatorAccess(services, actor, paramOf(c, "id"));
      const sso = await requireProvider(parts, access);
      const back = { href: organizationHref(access.organizationId), label: access.organizationName };
      return forms.confirmCompanyAction("stop", { ...form, back }, sso);
    },
    async submit(c, actor) {
      const access = await operatorAccess(services, actor, paramOf(c, "id"));
      await stopRequiringProvider(services, access);
      return `${organizationHref(access.organizationId)}?done=sso-stopped`;
    },
  });
}
