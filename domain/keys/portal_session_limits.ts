// Limits of portal sessions.

/** Maximum lifetime of a session. */
export const portalSessionMinutesMax = 60;
/** The address that opens a session works this long, once. */
export const portalSessionEntryMs = 5 * 60_000;
/** From its first use, while the same client may use it again: a double click, or a frame that is mounted twice. */
export const portalSessionReentryMs = 10_000;
/** Maximum number of live sessions of an organization. */
export const portalSessionsLiveMax = 1_000;
/** Sessions that an operator token creates. */
export const portalSessionsPerMinuteMax = 600;
/** After it has expired, until it is deleted. */
export const portalSessionKeptMs = 24 * 3_600_000;
