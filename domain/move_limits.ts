// The limits of `gatehouse move`.

/** Rows and bytes that `gatehouse move` copies in one transaction. As JSON they may take twice as much; a libSQL server sends 10 MB at most. */
export const moveBatchRowsMax = 20_000;
export const moveBatchBytesMax = 4_000_000;
/** After a batch that took longer, the next ones have half as many rows: a libSQL server ends transactions after five seconds. */
export const moveWriteMs = 1_000;
/** Time that a libSQL server may take for a request of `gatehouse move`, such as counting all records. */
export const moveRequestTimeoutMs = 30 * 60_000;
