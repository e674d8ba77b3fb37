// What spans all subjects: the operators’ lists of organizations and people, the overviews, and search.
// Tables: organization_notes, organization_search, user_search, user_texts.
