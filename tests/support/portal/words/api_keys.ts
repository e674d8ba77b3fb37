// What pages say about API keys, for tests that look for it.
export const apiKeyWords = {
  shownOnce: "It won't be shown again.",
  revocation: "Requests with this key will fail immediately.",
  revoked: (name: string) => `“${name}” has been revoked.`,
  changed: (name: string) => `Changes to “${name}” have been saved.`,
};
