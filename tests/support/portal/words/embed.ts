// Words of the pages of portal sessions.
export const embedWords = {
  ended: "This session has ended",
};
