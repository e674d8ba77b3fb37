// The two environments of API keys. Usage of test keys is kept apart: it is on no statement and counts against no limit.

export const environments = ["live", "test"] as const;
export type Environment = (typeof environments)[number];
