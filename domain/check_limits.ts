// The limits of `gatehouse check` and of health checks.

/** Time for each part of the check. Longer than the wait for a lock, so that a held lock is reported as one. */
export const checkTimeoutMs = 7_000;
export const checkRequestsAtOnceMax = 8;
/** Maximum number of sign-in providers that are checked. */
export const checkedProvidersMax = 100;
/** Clock differences that cause a warning and an error. */
export const checkClockWarningMs = 2_000;
export const checkClockWrongMs = 60_000;
/** Free disk space below which there is a warning, and an error. */
export const checkFreeBytesWarningMin = 1024 * 1024 * 1024;
export const checkFreeBytesMin = 64 * 1024 * 1024;

/** Time without a write after which a health check writes. */
export const readinessWriteAgeMaxMs = 10_000;
/**
 * Pages that a health check writes, one after the other, after a write failed. A record needs about six, and a write that ran
 * out of space leaves a few free in the log.
 */
export const readinessRecoveryWrites = 16;
/** Time that a health check waits for its write. Orchestrators wait for a second by default. */
export const readinessWaitMs = 500;
