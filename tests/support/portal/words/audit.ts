// What the page of the audit log says, for tests that look for it.
export const auditWords = {
  clearFilters: "Clear filters",
  formerMembers: "Former members",
  newest: "Newest entries",
  noMatches: "No matching entries",
  older: "Older entries",
};
