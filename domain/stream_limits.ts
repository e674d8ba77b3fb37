// Limits of continuous backups.

/** Frames of the log (4 KiB each) after which the copier of a continuous backup asks for a checkpoint. */
export const streamCheckpointFrames = 20_000;
/** Frames after a checkpoint that readers kept from being complete, until the next one is tried. */
export const streamRetryFrames = 5_000;
/** Frames (256 MiB) at which the log is checkpointed even though it isn't copied, which is a gap. */
export const streamLogFramesMax = 65_536;
/** Before it asks, the copier copies until about so many bytes are left, and it gives up after so many steps. */
export const streamCatchUpBytes = 1024 * 1024;
export const streamCatchUpSteps = 5;
/** The writer waits for the copier for at most so long before a checkpoint. */
export const streamTurnMs = 250;
/** Interval at which the copier shows that it is alive, and looks at the length of the log. */
export const streamTickMs = 1_000;
/** Without a sign of life of the copier for so long, the writer checkpoints as without it. */
export const streamSilenceMs = 30_000;
/** The copier waits for the writer for at most so long: it may be waiting for the lock of a command. */
export const streamAnswerMs = 6_000;
/** Pages of a segment, after which the rest of the log goes into another one; of one transaction; and of a part of a snapshot. */
export const streamSegmentBytesMax = 16 * 1024 * 1024;
export const streamCommitBytesMax = 64 * 1024 * 1024;
export const streamPartBytes = 16 * 1024 * 1024;
/** Bytes of the data file that are read in one step for a snapshot. The main thread waits for them. */
export const streamReadBytes = 256 * 1024;
export const streamSnapshotEveryMs = 24 * 3_600_000;
export const streamObjectBytesMax = 128 * 1024 * 1024;
/** Objects, and their bytes, that are fetched ahead at a restore. */
export const streamAheadMax = 8;
export const streamAheadBytesMax = 64 * 1024 * 1024;
/** Pages of segments that a restore gathers before it writes them. */
export const streamGatheredBytesMax = 32 * 1024 * 1024;
/** A request may take so long, and longer with a large body: 50 kB a second are enough. */
export const streamRequestTimeoutMs = 60_000;
export const streamBytesPerMsMin = 50;
/** Pauses after a failed request to the target: each is twice as long as the one before. */
export const streamRetryMs = [500, 30_000] as const;
/** Pauses before a request to a store, or a part of a snapshot, is sent again. */
export const streamRequestRetriesMs = [500, 2_000] as const;
/** Interval at which a server renews that a target is its own, and the age at which another server may take it. */
export const streamOwnerRenewMs = 60_000;
export const streamOwnerStaleMs = 180_000;
/** Interval of checks that no other server has taken the target over, and the time that one that continues its work waits. */
export const streamOwnerCheckMs = 10_000;
export const streamTakeOverMs = 15_000;
/** Time that a stop waits for uploads. The rest is uploaded after the next start. */
export const streamStopMs = 3_000;
/** Rows that a restore adds up in one query, to compare sums. A longer list is what one series has in 15 minutes. */
export const sumsComparedRowsMax = 100_000;
