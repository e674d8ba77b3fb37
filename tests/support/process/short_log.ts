// Stands in for db/engine/connection.ts in the writer's turns: without a copy, the log is checkpointed every 200 pages.
export * from "../../../db/engine/connection.ts";

export const checkpointPages = 200;
