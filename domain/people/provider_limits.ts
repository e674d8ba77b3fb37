// Limits of signing in with providers.

/** Time to return from a provider, and for the cookie of the browser that began. */
export const providerVisitTimeoutMs = 10 * 60_000;
/** Visits that a client address begins in ten minutes. */
export const providerVisitsMax = 100;
/** Requests of visits to a provider at the same time. Each holds up to two connections and what it has read. */
export const providerPlacesMax = 20;
/** Requests at the same time to all providers of the service, and to all of organizations. */
export const providerPlacesOfAllMax = 100;
/** Maximum for one provider while more than half of all places are taken. */
export const providerPlacesWhenFewMax = 4;
/** Time for everything that a page of ours waits for from a provider. */
export const providerTimeoutMs = 5_000;
/** Time for which a provider's configuration and keys are used. */
export const providerKeptMs = 10 * 60_000;
/** Time between two requests for keys that are known, after a signature was invalid. */
export const providerKeysAgainMs = 10_000;
/** Providers whose configuration a thread keeps. */
export const providersKeptMax = 200;
/** Providers of the whole service that a page offers. */
export const offeredProvidersMax = 20;
/** Maximum number of identities of a user. */
export const identitiesPerUserMax = 20;
/** The largest number of accounts that are counted before a provider is deleted. */
export const connectedCountMax = 10_000;
