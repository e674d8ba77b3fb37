// Limits and lifetimes of the OpenID provider.

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

export const codeMs = minuteMs;
/** Used codes are kept for longer than the access tokens that came of them. */
export const codeKeptMs = 60 * minuteMs;
export const openCodesMax = 20;
/** Grants of a session to a client, for the same organization and resource. */
export const grantsOfSessionMax = 100;
export const accessTokenMs = 15 * minuteMs;
export const jwtAccessTokenMs = 5 * minuteMs;
export const idTokenMs = 60 * minuteMs;
export const offlineMs = 30 * dayMs;
/** Within this time, a refresh token may be repeated: its response may be lost. */
export const refreshAgainMs = 10_000;
export const waitingRequestMs = 10 * minuteMs;
/** A consent page is out of date after this time, because it was shown to someone who had signed in as the request asks. */
export const consentFormMs = 10 * minuteMs;
export const waitingRequestsOfAddressMax = 50;
/** Keys are published before they sign, and after. */
export const keyAheadMs = dayMs;
export const keySignsMs = 90 * dayMs;
export const keyKeptMs = 30 * dayMs;
export const keysCachedMs = minuteMs;
export const signaturesAtOnceMax = 2;
export const signaturesWaitingMax = 64;
/** Back-channel logouts: three attempts in five minutes. */
export const logoutWaitsMs: readonly number[] = [30_000, 4 * minuteMs];
export const logoutTimeoutMs = 5_000;
export const logoutLeaseMs = minuteMs;
export const logoutTokenMs = 2 * minuteMs;
export const logoutsAtOnceMax = 16;
/** Codes of devices, and how often they may ask. */
export const deviceCodeMs = 10 * minuteMs;
export const devicePollMs = 5_000;
export const devicesOfAddressMax = 10;
export const devicesOfClientMax = 1_000;
/** Wrong codes that a person enters in a minute. */
export const deviceEntriesMax = 5;
/** Wrong secrets of a client from one address in a minute. */
export const wrongSecretsMax = 20;
/** Documents of clients: how long one is used, and how many are kept. */
export const documentMinMs = minuteMs;
export const documentDefaultMs = 60 * minuteMs;
export const documentMaxMs = dayMs;
export const documentsMax = 10_000;
/** Clients with documents that a person has allowed. */
export const documentsOfPersonMax = 100;
/** Documents that a person has read in a minute. */
export const documentReadsMax = 20;
/** Requests for documents, and for keys, at the same time; those of a person or an address. */
export const documentPlacesMax = 16;
export const documentPlacesOfOneMax = 4;
/** Assertions of clients with keys: how far ahead they may expire, how far clocks may differ, and how many of one are remembered. */
export const assertionMs = 10 * minuteMs;
export const assertionToleranceMs = minuteMs;
export const assertionsOfClientMax = 1_000;
/** Expired rows that one write deletes. */
export const expiredRowsMax = 50;
