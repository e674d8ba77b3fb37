// Every limit but those of `gatehouse check`, places for emails and emails to a recipient, with its unit at the end of its name. Tests in tests/domain/limits_test.ts assert how they relate.

// Requests

export const bodyBytesMax = 64 * 1024;
export const usageBodyBytesMax = 1024 * 1024;
/** Largest body without a session or an API key. */
export const anonymousBodyBytesMax = 16 * 1024;
/** Largest body with an API key that needs no room. */
export const smallBodyBytesMax = 4 * 1024;
/** Bytes of larger bodies in an HTTP thread, from the first byte to the response. Others are rejected with 503. */
export const largeBodiesBytesMax = 4 * 1024 * 1024;
/** Levels of nesting in a JSON body; the outermost object is level 1. */
export const jsonDepthMax = 16;
export const errorDetailsMax = 100;
/** Names in an object of a JSON body, or fields of a form. */
export const objectKeysMax = 100;
/** Values in a JSON body, estimated by its commas and brackets. */
export const jsonValuesMax = 50_000;
/** Query parameters. Three of them accept up to 100 values. */
export const queryParametersMax = 400;
export const bodyReadTimeoutMs = 10_000;
/** Time for which the connection then stays open for the client to read the response. */
export const unfinishedBodyGraceMs = 1_000;
/** Characters of a request's path and query. */
export const urlCharactersMax = 8 * 1024;
/** Characters of the URL to return to after signing in. As a parameter, it fits into a URL. */
export const returnToCharactersMax = 2_000;
/** Room for the headers of a response. Proxies must accept a redirect to that URL, percent-encoded, that also clears cookies. */
export const responseHeaderCharactersMax = 12 * 1024;
/** Characters of a request's header names and values. */
export const headerCharactersMax = 16 * 1024;
/** Characters of the `Set-Cookie` headers that clear cookies. By default, nginx passes on 4 KiB of headers. */
export const clearedCookiesCharactersMax = 2_500;
export const pageItemsDefault = 50;
/** Rows of a page in the operator console. */
export const consolePageItemsMax = 25;
export const pageItemsMax = 100;

// Accounts and sign-in

/** Code points of a password after NFKC. */
export const passwordCharactersMin = 12;
export const passwordCharactersMax = 128;
/** Passwords waiting to be hashed; others are rejected with 503. */
export const passwordHashesWaitingMax = 32;
/** Time without a password after which the hashing thread ends. */
export const hashingThreadIdleMs = 30_000;
export const nameCharactersMax = 100;
export const emailCharactersMax = 254;
export const apiKeyNameCharactersMax = 100;
/** Active keys of an organization whose plan doesn't say otherwise. */
export const activeApiKeysMax = 100;
/** Characters of an API key's permission, and permissions of a key in addition to Gatehouse's own. */
export const keyPermissionCharactersMax = 64;
export const ownKeyPermissionsMax = 32;
/** Interval between writes of a session's last-seen time. */
export const sessionSeenIntervalMs = 5 * 60_000;
/** Session tokens of concurrent requests after which a read accepts no more requests. */
export const sessionTokensPerReadMax = 100;
/** API keys to verify of concurrent requests after which a read accepts no more requests. */
export const verificationsPerReadMax = 100;
/** Maximum number of remembered operator tokens that verify keys. */
export const rememberedOperatorTokensMax = 1_000;
/** Interval between entries in the log about two people's cookies in one request, for each client address. */
export const sessionConflictNotedIntervalMs = 60_000;
/** Sessions of a user. A program that signs in for each call would have thousands. */
export const sessionsPerUserMax = 50;
/** Failed sign-ins of an account before delays begin. The delay doubles with each further failure. */
export const signInFailuresFree = 5;
export const signInDelayMinMs = 1_000;
export const signInDelayMaxMs = 15 * 60_000;
/** Failed sign-ins of a client address in `addressWindowMs`, and sign-ins that wait for others to be decided. */
export const addressFailuresMax = 10;
export const addressAttemptsWaitingMax = 50;
/** Clients that an unknown proxy may stand for, where limits by address apply to it. */
export const unknownProxyClientsMax = 20;
/** Sign-ups of a client address. An office or a school shares one. */
export const addressSignUpsMax = 60;
export const addressSignUpWindowMs = 3_600_000;
/** Password reset links that a client address requests in `addressWindowMs`. */
export const addressLinkRequestsMax = 20;
export const addressWindowMs = 600_000;
export const operatorTokenAddressesMax = 32;
/** Time after the use of a second factor in which an operator may act as one. */
export const operatorSignInMs = 12 * 3_600_000;
/** Time for which an operator views an organization as its owners see it before they must start again. */
export const operatorViewMs = 3_600_000;
/** Time for which an authentication counts as recent. */
export const recentAuthenticationMs = 10 * 60_000;
/** Time for the second step, and wrong codes in that time. */
export const secondStepTimeoutMs = 10 * 60_000;
export const secondStepAttemptsMax = 5;
/** Wrong codes in a row after which an authenticator app is locked (NIST SP 800-63B-4, section 3.2.2). */
export const totpWrongCodesMax = 100;
/** Time for which a code is displayed, and periods before and after the current one that are accepted. */
export const totpPeriodMs = 30_000;
export const totpStepsMax = 1;
export const recoveryCodesMax = 10;
export const passkeysPerUserMax = 20;
/** Time to use a passkey, and challenges of a client address in `addressWindowMs`. */
export const passkeyTimeoutMs = 5 * 60_000;
export const passkeyChallengesMax = 100;
/** Owners listed for a member without permission. */
export const ownersShownMax = 5;
export const unlistedOriginsLoggedMax = 100;
export const membershipsPerUserMax = 50;
/** Organizations that an account creates in an hour: each has a share of the work that all have in common. */
export const accountOrganizationsPerHourMax = 10;
export const openInvitationsMax = 100;
/** Unfinished sign-ins of each kind that one step deletes after they expire. */
export const endedSignInsMax = 500;

// Operators

/** Printable ASCII characters of an organization's external id. */
export const externalIdCharactersMax = 255;
export const metadataKeysMax = 50;
export const metadataKeyCharactersMax = 40;
export const metadataValueCharactersMax = 500;
export const organizationNotesMax = 200;
export const organizationNoteCharactersMax = 2_000;
/** Products in the catalogue, and metrics of a product, which a form must have room for. */
export const productsMax = 200;
export const productMetricsMax = 30;
export const productUnitCharactersMax = 20;

// Email

/** Invitation emails of an organization and of a user in an hour. */
export const invitationMailsPerHourMax = 50;
export const accountMailsPerHourMax = 5;
/** Invitation emails of a user to one address in an hour. */
export const invitationMailsToAddressPerHourMax = 5;
/** Invitation emails of a user without a confirmed address in an hour. */
export const unverifiedInvitationMailsPerHourMax = 5;
/** Owners and admins of an organization, and operators, who get the emails about one of its limits. */
export const limitMailRecipientsMax = 100;
export const limitMailOperatorsMax = 20;
/** Maximum number of these emails to one operator in a day. Customers can cause them. */
export const operatorLimitMailsPerDayMax = 100;
/** Events that one step searches for those about limits, which become emails, and the interval between searches for new ones. */
export const mailedEventsPerStepMax = 200;
export const limitNoticesIntervalMs = 30_000;
/** Queued emails that the metrics count, which bounds the cost of a scrape. */
export const outboxCountedMax = 10_000;
/** Timeout for sending one email. */
export const mailSendTimeoutMs = 60_000;
export const mailConnectTimeoutMs = 10_000;
export const mailGreetingTimeoutMs = 15_000;
export const mailSilenceTimeoutMs = 45_000;
/** Time for which a server claims an email that it sends. After a crash, other servers wait this long. */
export const mailLeaseMs = 90_000;
/** From a failed attempt to the next. Doubles with each failure. */
export const mailRetryMinMs = 5_000;
export const mailRetryMaxMs = 3_600_000;
/** Age after which an undelivered email is dropped. */
export const mailGiveUpMs = 24 * 3_600_000;
/** Interval between checks of the outbox for emails of other servers. */
export const mailPollIntervalMs = 30_000;
/** Time for an email that is being sent when the server stops. */
export const mailShutdownGraceMs = 3_000;
export const developmentMailsMax = 100;
/** Characters of a name in a subject; longer names are cut. */
export const mailSubjectNameCharactersMax = 60;

// Operators and the audit log

/** Time for which a link from `gatehouse user` works. */
export const operatorLinkLifetimeMs = 24 * 3_600_000;
/** Users or keys that a command reads at a time. */
export const operatorPageItemsMax = 500;
/** Organizations of a user in operators' lists. */
export const listedOrganizationsMax = 100;
/** Time for which the operator's overview is not read again. */
export const overviewKeptMs = 30_000;
/** Products and metrics that the overview sums: those with the most records. */
export const overviewSeriesMax = 100;
export const searchCharactersMax = 200;
export const auditRetentionMs = 400 * 24 * 3_600_000;
/** Entries that one step of the CSV export reads. */
export const auditStepEventsMax = 500;
/** People in the filter of the audit log page. */
export const auditPageActorsMax = 500;
/** Interval between entries about a denied attempt of a person at one path, or a key's rate limit. */
export const auditNotedIntervalMs = 60_000;
/** Sessions that are looked up for cross-site requests of a client address in that time. */
export const auditLookUpsMax = 60;
/** Interval between writes of the last use of a key or an operator token. */
export const apiKeyUsedIntervalMs = 60_000;
/** Rejected API keys and operator tokens of a client address in a minute. */
export const rejectedApiKeysPerMinuteMax = 60;

/** Time that `/metrics` waits for the other threads. Prometheus waits 10 s for the response. */
export const metricsTimeoutMs = 5_000;

// Plans

export const plansMax = 200;
/** Limits of a plan, limits that an organization has instead, and limits of a key. */
export const planLimitsMax = 20;
export const budgetLimitsMax = 10;
/** The most that a plan can allow. */
export const planApiKeysMax = 10_000;
export const planMembersMax = 10_000;
export const planUsageSeriesMax = 100_000;
export const planRequestsPerSecondMax = 1_000_000;
/** Time for searching customers who use more than new limits, and those that are named. */
export const limitsBelowUseSearchMs = 5_000;
export const limitsBelowUseShownMax = 20;
/** Organizations that one step of the search reads, with at most `usageStepSeriesMax` series unless a single one has more. */
export const limitsBelowUseStepMax = 500;

// Usage

/** Series of an organization: distinct combinations of product, metric and key. */
export const usageSeriesMax = 10_000;
export const usageBatchRecordsMax = 1_000;
export const usagePropertiesMax = 16;
export const usagePropertyNameCharactersMax = 64;
export const usagePropertyValueCharactersMax = 255;
export const idempotencyKeyCharactersMax = 255;
/** Distance of a record's timestamp in the past and in the future. */
export const usageTimestampPastMaxMs = 35 * 24 * 3_600_000;
export const operatorTimestampPastMaxMs = 400 * 24 * 3_600_000;
export const usageTimestampFutureMaxMs = 5 * 60_000;
/** Records that the batch of a void reads: those recorded since the others of the quarter-hour were read. */
export const usageVoidRecentRecordsMax = 5_000;
/** Times that a void starts over when others of its quarter-hour are voided at the same time. */
export const usageVoidAttemptsMax = 20;
export const voidReasonCharactersMax = 200;
/** Records that one turn of a filtered list, or of a void, reads. Takes a few milliseconds. */
export const usageRecordScanMax = 50_000;
/** Records that one step of retention deletes, and the pause after it. */
export const retentionStepRecordsMax = 500;
export const retentionRestMs = 50;
/** Interval between checks for old data. */
export const retentionIntervalMs = 60_000;
export const dueWorkIntervalMs = 1_000;
/** Rows that one step deletes for a deleted organization. In the worst case, each is on a page of its own. */
export const organizationEndRecordsMax = 200;
export const organizationEndRollupsMax = 500;
export const organizationEndSeriesMax = 50;
export const organizationEndApiKeysMax = 100;
export const usageFilterValuesMax = 100;
export const usageWindowsMax = 1_000;
/** Years that the usage page accepts, and the most in one range. In these, all time zones align with quarter-hours. */
export const usagePageYearMin = 2000;
export const usagePageYearMax = 2099;
export const usagePageYearsMax = 25;
/** Products, metrics and keys each in the filters of the usage page. */
export const usagePageChoicesMax = 1_000;
/** The span of a rollup. Every time zone in use is a multiple of it. */
export const rollupQuarterMs = 15 * 60_000;
/** The span of an hourly rollup, which replaces four others within a window. */
export const rollupHourMs = 4 * rollupQuarterMs;
export const usageSumRowsMax = 100_000;
/** Rollups that one step of a job reads. Takes a tenth of a second, during which other jobs wait. */
export const usageStepRollupsMax = 500_000;
/** Series of which one step reads rollups, unless a single organization has more. */
export const usageStepSeriesMax = 10_000;
/** Organizations that one step of a job looks up. */
export const usageOrganizationsPerReadMax = 10_000;
/** Sums that one step returns, unless a single window has more. They are in memory together. */
export const usageStepRowsMax = 1_000;
/** Difference between the clocks of several servers for which windows of limits can have records from before the limit. */
export const limitClockMarginMs = 10 * 60_000;
/** Records that the sum of one minute reads. Takes half a second. In a minute with more, limits count only later ones. */
export const limitMinuteRecordsMax = 500_000;
/** Unknown counters of an organization that wait to be completed: those of hard limits, and those of soft ones. */
export const limitUnknownCellsMax = 2_000;
/** Counters of limits that one job completes, and one batch writes. */
export const limitCellsPerReportMax = 100;
/**
 * Time for which counters of minutes and hours are kept. Older windows are read from records and rollups when something is
 * late.
 */
export const limitCounterShortKeptMs = 2 * 24 * 3_600_000;
/** Time for which counters of days and months, and notices, are kept: longer than timestamps may be in the past. */
export const limitCounterKeptMs = 404 * 24 * 3_600_000;
/** Counters or notices that one step deletes. */
export const limitSweepRowsMax = 500;
/** Interval between writes of the offsets of time zones. */
export const timezoneIntervalMs = 24 * 3_600_000;
/** Organizations whose counters a thread completes at the same time. */
export const limitOrganizationsAtOnceMax = 8;

// The recorder

/** Records and bytes of JSON in the queue; others are rejected with 503. */
export const recorderQueueRecordsMax = 100_000;
export const recorderQueueBytesMax = 16 * 1024 * 1024;
/** The share of one organization in these records and bytes. */
export const recorderOrganizationRecordsMax = 25_000;
export const recorderOrganizationBytesMax = 4 * 1024 * 1024;
/** Records and bytes that a commit takes from one organization before it moves to the next. */
export const recorderQuantumRecordsMax = 1_000;
export const recorderQuantumBytesMax = 1024 * 1024;
/** API keys whose organization is cached, for fair shares of the queue. */
export const rememberedApiKeysMax = 20_000;
/** Series that a thread records to without looking for new ones, and for how long after it last looked. */
export const rememberedSeriesMax = 20_000;
export const rememberedSeriesMs = 10_000;
/** Records and bytes of JSON in a commit. A single request may have more bytes. */
export const recorderCommitRecordsMax = 10_000;
export const recorderCommitBytesMax = 4 * 1024 * 1024;
/** Turns of the event loop that a commit waits for more requests, as long as each brings some. */
export const recorderGatherTurnsMax = 5;
/** Concurrent commits on a libSQL server, and records that must be queued to start the second. A data file has one writer. */
export const recorderRemoteCommitsMax = 2;
export const recorderSecondCommitRecordsMin = 500;
/** Idempotency keys that arrive while the recent and the middle ones are moved on once. Powers of two. */
export const keysRecentMax = 2 ** 16;
export const keysMiddleMax = 2 ** 20;

// Jobs of the reports thread

/** Time that a page waits for small charts and meters. After that, it leaves them out. */
export const pageNumbersTimeoutMs = 5_000;
/** Jobs of one reader that run at the same time: an organization's keys, its members, or an operator. Others wait, as do jobs for slow clients. */
export const jobsRunningPerReaderMax = 2;
/** Jobs of one reader, and in total, that run, wait or are being read; others are rejected with 503. */
export const jobsOpenPerReaderMax = 32;
export const jobsOpenMax = 512;
/** Time for a client to read one part of a result. */
export const jobClientTimeoutMs = 60_000;
/** Concurrent jobs on a libSQL server, where most of the time is spent waiting for responses. */
export const jobSlicesRemoteMax = 8;

// Statements

/** Series whose sums one step of closing reads, unless a single organization has more. */
export const statementStepSeriesMax = 2_000;
export const statementBatchLinesMax = 200;
/** Lines that one step of the CSV export or of the totals reads, unless a single organization has more. */
export const statementStepLinesMax = 1_000;
/** Products and metrics that the totals of a statement list. */
export const statementTotalsMax = 100;
/** Products and metrics among which those are found, besides the catalogue's. */
export const statementTotalsReadMax = 10_000;
/** A summary of a statement with more organizations than this is kept for a while. */
export const statementSummaryOrganizationsMax = 1_000;
export const statementSummaryKeptMs = 30_000;
/** Time that a request waits for a statement to be closed. Then it responds, and closing continues. */
export const statementWaitMs = 10_000;
/** Interval between searches for a statement that is due or not complete. */
export const statementIntervalMs = 60_000;
/** Time for which the sums of a deleted organization are kept if its last month is not closed before. */
export const deletedUsageKeptMs = 400 * 24 * 3_600_000;

// The database and backups

/** Time that a writer waits for the lock of the data file. */
export const databaseBusyTimeoutMs = 5_000;
/** Time that the final checkpoint waits for readers in other processes. */
export const checkpointBusyTimeoutMs = 2_000;
/** Pages that a backup copies in one step (8 MiB). Takes a few hundredths of a second, after which it can be stopped. */
export const backupStepPagesMax = 2_048;
/** Steps between two syncs of a backup (32 MiB). A single sync at the end would delay commits. */
export const backupUnsyncedStepsMax = 4;
/** Interval between checks of the backup schedule, and pause after a failure. */
export const backupPollIntervalMs = 60_000;
export const backupRetryMs = 10 * 60_000;
/** Time without changes after which an unfinished backup counts as abandoned. */
export const backupAbandonedMs = 6 * 3_600_000;
export const remoteRequestTimeoutMs = 10_000;
/** Time in which a transaction of the writer accepts more batches. */
export const commitFillMs = 10;
/** Write batches of a thread that run or wait; others are rejected with 503. */
export const databaseWritesWaitingMax = 1_000;
/** The share of one signed-in user in these batches. */
export const sessionWritesWaitingMax = 120;

// Starting and stopping

/** Threads that serve HTTP, if there are as many cores. More would need their memory for a small gain. */
export const autoHttpThreadsMax = 8;
/** Memory that is planned for one HTTP thread, and for each further one. */
export const firstThreadBytes = 512 * 1024 * 1024;
export const furtherThreadBytes = 128 * 1024 * 1024;
/** From SIGTERM to the end of the process. */
export const shutdownTimeoutMs = 9_000;
/** From SIGTERM until new requests are rejected. During this time `/health/ready` returns 503, even on open connections. */
export const shutdownNoticeMs = 500;
/** Interval between checks for requests in progress. */
export const shutdownCheckIntervalMs = 10;
/** Time for the last responses when a client keeps its connection open. */
export const shutdownFlushMs = 250;
/** Interval between checks that the port is open. */
export const listenCheckIntervalMs = 500;
/** Open file descriptors beyond which idle connections are closed. Each idle connection uses up to 20 KB of memory. */
export const openDescriptorsMax = 5_000;
/** File descriptors that must be free when the port is opened again: with fewer, it would soon be closed again. */
export const descriptorsToListenMin = 16;
/** File descriptors that must be free when a thread starts. It uses 7; the rest is for connections that other threads accept. */
export const descriptorsForThreadMin = 64;
/** Time for requests in progress when descriptors run out, before their connections are closed. */
export const retiredServerTimeoutMs = 15_000;
