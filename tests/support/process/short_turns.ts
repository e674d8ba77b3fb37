// Stands in for domain/stream_limits.ts in the copier of a continuous backup: it asks for a checkpoint every few pages.
export * from "../../../domain/stream_limits.ts";

export const streamCheckpointFrames = 100;
export const streamRetryFrames = 50;
export const streamSegmentBytesMax = 200_000;
