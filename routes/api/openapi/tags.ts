// The groups of the API, in the order in which people read about them.

/** What a group is for, by its name. */
export const tagDescriptions = {
  "Sign-in":
    "Who is signed in, for every product on the same parent domain. Allowed origins may call these with cookies.",
  Account: "A person's own account. For the service's own pages and programs: no other origin may call it.",
  Organizations: "Organizations, their members and invitations.",
  "API keys": "The keys that customers make for their programs.",
  Usage: "Recording what a key uses, and reading it.",
  "Audit log": "Who did what in an organization.",
  Operations: "For the people who run the service.",
} as const;

/** The name of a group. */
export type Tag = keyof typeof tagDescriptions;
