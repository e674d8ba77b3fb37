// Stands in for domain/stream_limits.ts in a continuous backup: the copier asks for a checkpoint every few pages, and a later run
// doesn't wait for a former one, which must have been killed.
export * from "../../../domain/stream_limits.ts";

export const streamCheckpointFrames = 100;
export const streamRetryFrames = 50;
export const streamSegmentBytesMax = 200_000;
export const streamTakeOverMs = 0;
