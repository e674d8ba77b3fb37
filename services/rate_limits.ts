// All rate limits that are counted in memory. The threads of a server count together; each server counts for itself.
import { leakReportsPerMinuteMax } from "../domain/keys/key_limits.ts";
import {
  accountMailsPerHourMax,
  accountOrganizationsPerHourMax,
  addressFailuresMax,
  addressLinkRequestsMax,
  addressSignUpsMax,
  addressSignUpWindowMs,
  addressWindowMs,
  apiKeyUsedIntervalMs,
  auditLookUpsMax,
  auditNotedIntervalMs,
  invitationMailsPerHourMax,
  invitationMailsToAddressPerHourMax,
  passkeyChallengesMax,
  rejectedApiKeysPerMinuteMax,
  sessionConflictNotedIntervalMs,
  sessionWritesWaitingMax,
  unknownProxyClientsMax,
  unlistedOriginsLoggedMax,
  unverifiedInvitationMailsPerHourMax,
} from "../domain/limits.ts";
import {
  deviceEntriesMax,
  devicePollMs,
  documentPlacesMax,
  documentReadsMax,
  wrongSecretsMax,
} from "../domain/oauth/oauth_limits.ts";
import { portalSessionsPerMinuteMax } from "../domain/keys/portal_session_limits.ts";
import { domainLookupsPerMinuteMax } from "../domain/people/company_sign_in.ts";
import { providerPlacesMax, providerVisitsMax } from "../domain/people/provider_limits.ts";
import {
  webhookNamesPerMinuteMax,
  webhookReplayedPerHourMax,
  webhookReplaysPerMinuteMax,
  webhookTestsOfPersonMax,
  webhookTestsOfServerMax,
  webhookTestsPerMinuteMax,
} from "../domain/outbox/webhook_limits.ts";
import { AddressLimiter } from "./address_limiter.ts";
import type { BaseContext } from "./base_context.ts";
import { RateLimiter, type RateLimitMemory } from "./rate_limiter.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

export type RateLimits = ReturnType<typeof createRateLimits>;

interface RateLimitsContext extends Pick<BaseContext, "config" | "clock"> {
  readonly memory: RateLimitMemory;
}

export function createRateLimits({ config, clock, memory }: RateLimitsContext) {
  // Every thread creates the same limiters in the same order.
  let limiters = 0;
  const limit = (points: number, windowMs: number, options?: { hashedNames: true }) =>
    new RateLimiter({ ...options, points, windowMs, clock, windows: memory.windows(limiters++) });
  const limitFailures = (points: number, windowMs: number) => new AddressLimiter(limit(points, windowMs));
  const limitByAddress = (points: number, windowMs: number) =>
    new AddressLimiter(limit(points, windowMs), limit(points * unknownProxyClientsMax, windowMs));
  return {
    /** By the hash of an API key. */
    apiKeyRequests: limit(config.apiKeyRequestsPerSecond, 1_000, { hashedNames: true }),
    /** Updates of when an operator token was last used. By token. */
    operatorTokenUses: limit(1, apiKeyUsedIntervalMs),
    /** API keys and operator tokens. By client address. */
    rejectedApiKeys: limitFailures(rejectedApiKeysPerMinuteMax, minuteMs),
    /** Reports of leaked keys, sign-ups and requests for links. By client address. */
    leakReports: limitByAddress(leakReportsPerMinuteMax, minuteMs),
    signUps: limitByAddress(addressSignUpsMax, addressSignUpWindowMs),
    linkRequests: limitByAddress(addressLinkRequestsMax, addressWindowMs),
    /** Failed sign-ins, codes and passkeys; apart from them, accounts that a provider asked about. By client address. */
    addressFailures: limit(addressFailuresMax, addressWindowMs),
    /** Those that are given back when their account signs in. By client address, its window, and account. */
    accountFailures: limit(addressFailuresMax, addressWindowMs),
    /** Password checks of sessions that run at the same time. By client address. */
    sessionPasswordChecks: limit(addressFailuresMax, addressWindowMs),
    /** By client address, or by user. */
    passkeyChallenges: limitByAddress(passkeyChallengesMax, addressWindowMs),
    /** Visits to identity providers. By client address, or by user. */
    providerVisits: limitByAddress(providerVisitsMax, addressWindowMs),
    /** Requests of visits at the same time. By provider and for all. If one is never given back, it counts for ten minutes. */
    providerPlaces: limit(providerPlacesMax, addressWindowMs),
    /** Emails about an account. By user. */
    accountEmails: limit(accountMailsPerHourMax, hourMs),
    /** New organizations. By user. */
    organizations: limit(accountOrganizationsPerHourMax, hourMs),
    /** Invitations by email. By organization and by user. */
    invitationEmails: limit(invitationMailsPerHourMax, hourMs),
    /** Invitations to one address. By user and recipient. */
    invitationEmailsToAddress: limit(invitationMailsToAddressPerHourMax, hourMs),
    /** By user. Lower, because spammers can create accounts with any address. */
    unverifiedInvitationEmails: limit(unverifiedInvitationMailsPerHourMax, hourMs),
    ...noteLimits(limit),
    /** Changes that wait for the database at the same time. By user. If one is never given back, it counts for an hour. */
    sessionWrites: limit(sessionWritesWaitingMax, hourMs),
    ...webhookLimits(limit),
    /** New portal sessions. By operator token. */
    portalSessions: limit(portalSessionsPerMinuteMax, minuteMs),
    ...oauthLimits(limit, limitFailures),
    /** Look-ups of TXT records. By organization. */
    domainLookups: limit(domainLookupsPerMinuteMax, minuteMs),
    /** Warnings that are logged once. By subject. */
    warnings: limit(1, Infinity),
    /** Warnings about unlisted origins, all together. */
    unlistedOrigins: limit(unlistedOriginsLoggedMax, Infinity),
  };
}

type NewLimit = (points: number, windowMs: number, options?: { hashedNames: true }) => RateLimiter;

/** Limits entries about events that strangers can repeat. @param limit Creates the next limiter. */
function noteLimits(limit: NewLimit) {
  return {
    /** Audit entries about exceeded limits: one per window. By subject. */
    limitEntries: limit(1, addressWindowMs),
    /** Audit entries about exceeded email limits. */
    emailLimitEntries: limit(1, addressWindowMs),
    /** Audit entries about repeated password reset requests. By user. */
    resetEntries: limit(1, addressWindowMs),
    /** Audit entries about denied requests. */
    deniedEntries: limit(1, auditNotedIntervalMs),
    /** Lookups of the sender of a denied request. */
    deniedLookups: limit(auditLookUpsMax, auditNotedIntervalMs),
    /** Log lines about conflicting session cookies. By client address. */
    sessionConflicts: limit(1, sessionConflictNotedIntervalMs),
  };
}

/** @param limit Creates the next limiter. */
function oauthLimits(limit: NewLimit, limitFailures: (points: number, windowMs: number) => AddressLimiter) {
  return {
    /** Wrong secrets of OAuth clients. By client and client address. */
    clientSecrets: limitFailures(wrongSecretsMax, minuteMs),
    /** Wrong codes of devices. By user. */
    deviceEntries: limit(deviceEntriesMax, minuteMs),
    /** Requests of a device that waits. By the hash of its code. */
    devicePolls: limit(1, devicePollMs, { hashedNames: true }),
    /** Documents of clients that have to be read. By user. */
    documentReads: limit(documentReadsMax, minuteMs),
    /** Requests for a document or for keys, also if they fail. By URL. */
    documentRequests: limit(1, minuteMs),
    /** Such requests at the same time. By user or client address, and for all. */
    documentPlaces: limit(documentPlacesMax, hourMs),
  };
}

/** @param limit Creates the next limiter. */
function webhookLimits(limit: NewLimit) {
  return {
    /** Replays of webhooks, and the deliveries that are sent again. By organization. */
    webhookReplays: limit(webhookReplaysPerMinuteMax, minuteMs),
    webhookReplayed: limit(webhookReplayedPerHourMax, hourMs),
    /** Tests of webhooks. By organization. */
    webhookTests: limit(webhookTestsPerMinuteMax, minuteMs),
    /** Tests of webhooks at the same time, which have places of their own: of a person or operator token, and of all. */
    webhookTestsOfPerson: limit(webhookTestsOfPersonMax, hourMs),
    webhookTestsInProgress: limit(webhookTestsOfServerMax, hourMs),
    /** Names of hosts in URLs of webhooks. By organization. */
    webhookNames: limit(webhookNamesPerMinuteMax, minuteMs),
  };
}
