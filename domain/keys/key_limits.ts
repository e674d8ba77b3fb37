// Limits of reports of leaked keys, and of emails about keys.

/** Reports of leaked keys from a client address in a minute; of GitHub's, only those with an invalid signature. */
export const leakReportsPerMinuteMax = 30;
/** Characters of a reported key, which may be an imported one, of the URL where it was found, and of the part of it that is kept. */
export const reportedKeyCharactersMax = 512;
export const reportedUrlCharactersMax = 2_000;
export const leakPlaceCharactersMax = 300;
/** Time after which another report of a key notifies again, if reports don't revoke keys. */
export const leakNotifiedMs = 24 * 3_600_000;
/** Emails to an organization in a day because its keys leaked. Strangers can cause them. */
export const leakMailsPerDayMax = 10;
/** Bytes of a report from GitHub, and keys of it that one transaction changes. */
export const githubReportBytesMax = 1024 * 1024;
export const leakedKeysOfStepMax = 50;
/** Time for which GitHub's public keys are not fetched again, and for which they are used while they can't be fetched. */
export const githubKeysKeptMs = 3_600_000;
export const githubKeysUsedMs = 24 * 3_600_000;
/** Interval between fetches because of an unknown key, or after a failure. Also the time until GitHub should try again. */
export const githubKeysRetryMs = 60_000;
/** Keys that an email about expiring or unused keys names. */
export const mailedKeysMax = 20;
/** Organizations whose keys one step of the search for unused keys reads. */
export const unusedKeysOrganizationsMax = 50;
/** Interval between searches for unused keys, which are due once a month. */
export const unusedKeysIntervalMs = 10 * 60_000;
/** CIDR blocks from which an API key may be used. */
export const apiKeyAddressesMax = 20;
/** Characters of a client's address in a verification. Anything but an address is denied where a key has addresses. */
export const clientAddressCharactersMax = 100;
