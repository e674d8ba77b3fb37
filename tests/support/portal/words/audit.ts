// What the page of the audit log says, for tests that look for it.
export const auditWords = {
  clearFilters: "Clear filters",
  formerMembers: "Former members",
  newest: "Newest entries",
  noEntries: "No entries",
  noMatches: "No matching entries",
  nothing: "Nothing to show",
  older: "Older entries",
};
