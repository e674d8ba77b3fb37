// The OpenID provider: applications (clients), resources, what people gave to applications (grants), codes, tokens, consents, devices
// and signing keys.
// Tables: oauth_assertions, oauth_clients, oauth_codes, oauth_consents, oauth_devices, oauth_documents, oauth_grants, oauth_logouts, oauth_requests, oauth_resources,
// oauth_signing_keys, oauth_tokens.
export { endAllSessions, hasGrants } from "./tokens.ts";
