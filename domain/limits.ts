// Every limit of the program with its unit in its name. Sizes and times that belong together are asserted in
// tests/domain/limits_test.ts.

/** Largest body of a JSON or form request, in bytes. */
export const bodyBytesMax = 64 * 1024;
/** Largest body of a usage request, in bytes. */
export const usageBodyBytesMax = 1024 * 1024;
/** Largest body that is read from a sender who is not signed in and has shown no API key, in bytes. */
export const anonymousBodyBytesMax = 16 * 1024;
/** Deepest nesting of a JSON body: the outermost object is level 1. */
export const jsonDepthMax = 16;
/** Faults that one error names, each with its path. */
export const errorDetailsMax = 100;
/** Names in any object of a JSON body, or fields of a form. */
export const objectKeysMax = 100;
/** Values of a JSON body in all, about: commas and brackets. */
export const jsonValuesMax = 50_000;
/** Parameters of a request's query: three of them take up to 100 values. */
export const queryParametersMax = 400;
/** How long a request may take to send its body, in milliseconds. */
export const bodyReadTimeoutMs = 10_000;
/** After that, how long its connection stays open for the client to read the response, in milliseconds. */
export const unfinishedBodyGraceMs = 1_000;
/** Longest request target (path and query) that is answered, in characters. */
export const urlCharactersMax = 8 * 1024;
/** Longest address to go to after signing in, in characters: written as a parameter it fits into a request target. */
export const returnToCharactersMax = 2_000;
/**
 * Room for the headers of an answer, in characters: a proxy has to take a redirect with that address, percent-encoded, and
 * cookies that are taken away.
 */
export const responseHeaderCharactersMax = 12 * 1024;
/** Largest sum of header names and values that is answered, in characters. */
export const headerCharactersMax = 16 * 1024;
/** Of an answer's `Set-Cookie` headers that take cookies away: nginx passes on 4 KiB of headers in all, unless told otherwise. */
export const clearedCookiesCharactersMax = 2_500;

/** Passwords are counted after NFKC, in code points. */
export const passwordCharactersMin = 12;
export const passwordCharactersMax = 128;
/** Hashes waiting for a turn; one more is refused with 503. */
export const passwordHashesWaitingMax = 32;

export const nameCharactersMax = 100;
export const emailCharactersMax = 254;
export const apiKeyNameCharactersMax = 100;
/** Active keys of one organization. */
export const activeApiKeysMax = 100;

/** A session's last-seen time is written at most this often, in milliseconds. */
export const sessionSeenIntervalMs = 5 * 60_000;
/** Two people's cookies in one request are told in the log at most this often for each client address, in milliseconds. */
export const sessionConflictNotedIntervalMs = 60_000;

/** Sessions of one person; a program that signs in for each call would have thousands. */
export const sessionsPerUserMax = 50;

/** Failed sign-ins of one account before delays begin. */
export const signInFailuresFree = 5;
/** The first delay after a failed sign-in, in milliseconds; it doubles with each further failure. */
export const signInDelayMinMs = 1_000;
export const signInDelayMaxMs = 15 * 60_000;
/** Failures that one client address has in `addressWindowMs`, and attempts that wait for others of it to be decided. */
export const addressFailuresMax = 10;
export const addressAttemptsWaitingMax = 50;
/** Accounts that one client address makes in `addressSignUpWindowMs`; an office or a school has one address. */
export const addressSignUpsMax = 60;
export const addressSignUpWindowMs = 3_600_000;
/** Links for a new password that one client address asks for in `addressWindowMs`. */
export const addressLinkRequestsMax = 20;
export const addressWindowMs = 600_000;
/** For so long after giving a password or using a passkey a person may change what protects their account. */
export const recentAuthenticationMs = 10 * 60_000;
/** From the password to the second step, in milliseconds, and wrong codes in that time. */
export const secondStepTimeoutMs = 10 * 60_000;
export const secondStepAttemptsMax = 5;
/** Wrong codes of an authenticator app in a row, over any time, after which it takes none (NIST SP 800-63B-4, section 3.2.2). */
export const totpWrongCodesMax = 100;
/** How long a code of an authenticator app is shown, in milliseconds, and how many of them around the present one are taken. */
export const totpPeriodMs = 30_000;
export const totpStepsMax = 1;
export const recoveryCodesMax = 10;
export const passkeysPerUserMax = 20;
/** How long a passkey may take to answer, in milliseconds, and sign-ins with one that a client address begins in `addressWindowMs`. */
export const passkeyTimeoutMs = 5 * 60_000;
export const passkeyChallengesMax = 100;
/** Owners named to a member whose role is not enough. */
export const ownersShownMax = 5;
/** Origins missing from ALLOWED_ORIGINS that the log names. */
export const unlistedOriginsLoggedMax = 100;
/** Organizations that one person may belong to. */
export const membershipsPerUserMax = 50;
/** Invitations of one organization that wait for an answer. */
export const openInvitationsMax = 100;
/** Mails that the invitations of one organization, and of one person, cause in an hour; and those to one address. */
export const invitationMailsPerHourMax = 50;
export const accountMailsPerHourMax = 5;
/** The same of one person's invitations to one address: sent again and again, they are no invitation any more. */
export const invitationMailsToAddressPerHourMax = 5;
/** The same of invitations by somebody who has not confirmed their own address. */
export const unverifiedInvitationMailsPerHourMax = 5;
/**
 * Emails that one recipient gets across all senders and servers. Invitations in a day, and how many of these there may be
 * before only people with a confirmed address may send more; links that confirm an address; links to change to it.
 */
export const invitationMailsToRecipientPerDayMax = 10;
export const unverifiedInvitationMailsToRecipientPerDayMax = 3;
export const verificationMailsToRecipientPerDayMax = 10;
export const emailChangeMailsToRecipientPerDayMax = 5;
/** Links that reset a password, and that turn two-step sign-in off, in the hour for which one works. */
export const accountLinkMailsToRecipientPerHourMax = 5;
/** Notices about an account whose address is not confirmed. To a confirmed address every notice is sent. */
export const noticesToUnconfirmedRecipientPerDayMax = 10;
/** Emails in the outbox that the metrics count, so that a long queue costs each scrape no more than this. */
export const outboxCountedMax = 10_000;
/** Mails that are sent at once, and how long one may take from claim to answer, in milliseconds. */
export const mailsAtOnceMax = 5;
export const mailSendTimeoutMs = 60_000;
/** How long connecting to the mail server, its greeting, and its silence may take, in milliseconds. */
export const mailConnectTimeoutMs = 10_000;
export const mailGreetingTimeoutMs = 15_000;
export const mailSilenceTimeoutMs = 45_000;
/** Of the mails that are due so many, the latest, are looked at for the most urgent ones: a millisecond or two. */
export const mailsLookedAtMax = 500;
/** For so long a mail that is being sent is nobody else's, in milliseconds; a crash delays it by as much. */
export const mailLeaseMs = 90_000;
/** From a failed attempt to the next, in milliseconds; it doubles with each failure. */
export const mailRetryMinMs = 5_000;
export const mailRetryMaxMs = 3_600_000;
/** When a mail is given up, in milliseconds after it was written. */
export const mailGiveUpMs = 24 * 3_600_000;
/** How often the outbox is looked at for other instances' mails, in milliseconds. */
export const mailPollIntervalMs = 30_000;
/** What a mail that is on its way at shutdown still has, in milliseconds. */
export const mailShutdownGraceMs = 3_000;
/** How often links whose time is over are removed, in milliseconds. */
export const endedLinksIntervalMs = 3_600_000;
/** Mails that `/dev/mail` shows. */
export const developmentMailsMax = 100;
/** A name in a mail's subject is cut to so many characters. */
export const mailSubjectNameCharactersMax = 60;
/** How long a link that the operator hands over works, in milliseconds. */
export const operatorLinkLifetimeMs = 24 * 3_600_000;
/** Users, or keys, that the operator's commands read at once. */
export const operatorPageItemsMax = 500;
/** How long the audit log is kept, in milliseconds: 400 days. */
export const auditRetentionMs = 400 * 24 * 3_600_000;
/** Entries that one turn of the audit log's CSV reads. */
export const auditTurnEventsMax = 500;
/** People whom the audit log's page offers to choose from. */
export const auditPageActorsMax = 500;
/** A denied attempt of one person at one path, and a limit that one key hits, is written at most once in this time. */
export const auditNotedIntervalMs = 60_000;
/** Cross-site attempts from one client address whose session is looked up, in that time. */
export const auditLookUpsMax = 60;
/** A key's last use is written at most this often, in milliseconds. */
export const apiKeyUsedIntervalMs = 60_000;
/** Refused API keys that one client address has in a minute. */
export const refusedApiKeysPerMinuteMax = 60;

/** Lists: default and largest page. */
export const pageItemsDefault = 50;
export const pageItemsMax = 100;

/** Series of one organization: distinct products, metrics and keys. */
export const usageSeriesMax = 10_000;
export const usageBatchRecordsMax = 1_000;
export const usagePropertiesMax = 16;
export const usagePropertyNameCharactersMax = 64;
export const usagePropertyValueCharactersMax = 255;
export const idempotencyKeyCharactersMax = 255;
/** How far back and ahead a record's timestamp may lie, in milliseconds. */
export const usageTimestampPastMaxMs = 35 * 24 * 3_600_000;
export const usageTimestampFutureMaxMs = 5 * 60_000;
/** Records that the batch of a void looks at: those that were recorded since the others of the quarter were looked at. */
export const usageVoidRecentRecordsMax = 5_000;
/** How often a void begins again when others of its quarter of an hour are voided at the same time. */
export const usageVoidAttemptsMax = 20;
/** Why a record was voided. */
export const voidReasonCharactersMax = 200;
/** Records that one turn of a filtered list, or of a void, looks at: some milliseconds. */
export const usageRecordScanMax = 50_000;
/** Records that one step of retention deletes, and how long it rests after it, in milliseconds. */
export const retentionStepRecordsMax = 500;
export const retentionRestMs = 50;
/** What one step of ending a deleted organization deletes at most: its rows lie among others', a page each at worst. */
export const organizationEndRecordsMax = 200;
export const organizationEndRollupsMax = 500;
export const organizationEndSeriesMax = 50;
export const organizationEndApiKeysMax = 100;
/** Half-done sign-ins of each kind that one step deletes when their time is over. */
export const endedSignInsMax = 500;
/** How often retention looks whether anything is too old, in milliseconds. */
export const retentionIntervalMs = 60_000;
/** Values that one filter of a usage query may have. */
export const usageFilterValuesMax = 100;
/** Calendar windows that one query may span. */
export const usageWindowsMax = 1_000;
/**
 * The years whose days the usage page takes, and how many of them at once: in them, and in as many before, every time
 * zone is on a quarter of an hour.
 */
export const usagePageYearMin = 2000;
export const usagePageYearMax = 2099;
export const usagePageYearsMax = 25;
/** Products, metrics and keys that the usage page offers to choose from, of each. */
export const usagePageChoicesMax = 1_000;
/** One rollup covers this many milliseconds: every time zone in use is a multiple of it. */
export const rollupQuarterMs = 15 * 60_000;
/** Where a window has whole hours, rollups of an hour stand for four of them. */
export const rollupHourMs = 4 * rollupQuarterMs;

/** Records and bytes of JSON that wait in the recorder; more are refused with 503. */
export const recorderQueueRecordsMax = 100_000;
export const recorderQueueBytesMax = 64 * 1024 * 1024;
/** Of them, records and bytes of one organization. */
export const recorderShareRecordsMax = 25_000;
export const recorderShareBytesMax = 16 * 1024 * 1024;
/** Records and bytes that a commit takes from one organization before the next one has its turn. */
export const recorderTurnRecordsMax = 1_000;
export const recorderTurnBytesMax = 1024 * 1024;
/** API keys whose organization is remembered, for fair shares of the queue. */
export const rememberedApiKeysMax = 20_000;
/** Records that one commit takes. */
export const recorderCommitRecordsMax = 10_000;
/** Bytes of JSON that one commit takes; one request alone may have more. */
export const recorderCommitBytesMax = 4 * 1024 * 1024;
/** Commits on their way at once, and how many records must wait for the second to be worth it. */
export const recorderCommitsMax = 2;
export const recorderSecondCommitRecordsMin = 500;
/** Idempotency keys that come in while the recent ones, and those in between, are moved on once. Powers of two. */
export const keysRecentMax = 2 ** 16;
export const keysMiddleMax = 2 ** 20;
/** Sums that one answer may have; the CSV has no such limit. */
export const usageSumRowsMax = 100_000;
/** Rollups that one turn of adding up looks at, at most: a tenth of a second, for which other reports wait. */
export const usageTurnRollupsMax = 500_000;
/** Sums that one such turn gives, unless one window alone has more: they are in memory together. */
export const usageTurnRowsMax = 1_000;

/** The page of keys waits for the small charts so long, in milliseconds; then it is shown without them. */
export const apiKeyCountsTimeoutMs = 5_000;
/** Reports of one organization that run at the same time. The others wait, and so do those with slow clients. */
export const reportsRunningPerOrganizationMax = 2;
/** Reports of one organization, and of all, that are open: under way, waiting, or being read. One more is rejected with 503. */
export const reportsOpenPerOrganizationMax = 32;
export const reportsOpenMax = 512;
/** How long a client may take for one part of a report, in milliseconds. */
export const reportClientTimeoutMs = 60_000;
/** Reports that run at the same time with a remote database, where most of the time is spent waiting for responses. */
export const reportSlicesRemoteMax = 8;

/** How long a writer waits for the database's lock, in milliseconds. */
export const databaseBusyTimeoutMs = 5_000;
/** How long the last checkpoint waits for other processes that are reading, in milliseconds. */
export const checkpointBusyTimeoutMs = 2_000;
/** Pages that a backup reads in one step, 8 MiB: a few hundredths of a second, after which it can be stopped. */
export const backupStepPagesMax = 2_048;
/** Bytes of a backup between two syncs to disk: a single sync at the end would make commits wait. */
export const backupSyncBytes = 32 * 1024 * 1024;
/** How often the schedule of backups is looked at, and how long it waits after a failure, in milliseconds. */
export const backupPollIntervalMs = 60_000;
export const backupRetryMs = 10 * 60_000;
/** After this time without a change an unfinished backup is what a crash left, in milliseconds. */
export const backupAbandonedMs = 6 * 3_600_000;
/** How long one request to a remote database may take, in milliseconds. */
export const remoteRequestTimeoutMs = 10_000;
/** Write batches under way or waiting at once; more are refused with 503. */
export const databaseWritesWaitingMax = 1_000;
/** Of them, those that one signed-in person has. */
export const sessionWritesWaitingMax = 120;
/** What each part of `gatehouse check` may take, in milliseconds (a held lock has to show as one), and its requests at once. */
export const checkTimeoutMs = 7_000;
export const checkRequestsAtOnceMax = 8;
/** How far another clock may be off, in milliseconds, before it is a warning, and before it is wrong. */
export const checkClockWarningMs = 2_000;
export const checkClockWrongMs = 60_000;
/** Free bytes beside the data file below which it is a warning, and below which it is wrong. */
export const checkFreeBytesWarningMin = 1024 * 1024 * 1024;
export const checkFreeBytesMin = 64 * 1024 * 1024;
/** Of each value that a browser sent `/portal/check` shows so many characters. */
export const checkShownCharactersMax = 200;

/** From SIGTERM to the end of the process, in milliseconds. */
export const shutdownTimeoutMs = 9_000;
/** From SIGTERM until new requests are rejected, in milliseconds: `/health/ready` is 503, on open connections too. */
export const shutdownNoticeMs = 500;
/** How often a shutdown checks whether requests are in progress, in milliseconds. */
export const shutdownCheckIntervalMs = 10;
/** What the last responses have to leave, in milliseconds, where a client keeps its connection from being closed. */
export const shutdownFlushMs = 250;

/** How often the server checks that its port is still open, in milliseconds. */
export const listenCheckIntervalMs = 500;
/** Open file descriptors beyond which idle connections are closed. Each idle connection takes up to 20 KB of memory. */
export const openDescriptorsMax = 5_000;
/**
 * When the server ran out of descriptors, how long requests in progress still have before their connections are closed
 * with all others, in milliseconds: as long as a body may take, and then some.
 */
export const retiredServerTimeoutMs = 15_000;
