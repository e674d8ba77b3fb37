// The background work on accounts, organizations and their domains.
import { domainLookUpsIntervalMs } from "../../domain/people/company_sign_in.ts";
import { type BackgroundWork, upkeep } from "../background_work.ts";
import type { Context } from "../context.ts";
import { lookUpDomains } from "./company_domains.ts";
import { deleteSomeOfDeletedOrganizations } from "./organization_deletion.ts";
import { cleanUpSignIns } from "./sign_in.ts";

export function peopleWork(context: Context): BackgroundWork[] {
  return [
    { name: "look-up of domains", pauseMs: domainLookUpsIntervalMs, step: () => lookUpDomains(context) },
    upkeep("data of deleted organizations", () => deleteSomeOfDeletedOrganizations(context)),
    upkeep("sign-ins that were not finished", () => cleanUpSignIns(context)),
  ];
}
