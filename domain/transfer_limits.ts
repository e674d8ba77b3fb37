// Limits of importing and exporting usage.

/** Time that an import keeps trying to reach a server that has responded before. */
export const importRetryMsMax = 5 * 60_000;
/** Faults that are listed. Further ones are counted. */
export const importFaultsListedMax = 100;
/** Combinations of organization, product and metric whose sums a dry run keeps. Further ones are summed together. */
export const importSeriesMax = 100_000;
/** Records or lines of statements that one step of an export reads. */
export const exportPageItems = 500;
