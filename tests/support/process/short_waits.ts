// Stands in for domain/limits.ts in the real program, so that tests wait less for it.
export * from "../../../domain/limits.ts";

export const databaseBusyTimeoutMs = 500;
export const shutdownTimeoutMs = 2_000;
export const mailRetryMinMs = 200;
export const mailShutdownGraceMs = 200;
