// The OpenID provider: authorization requests, tokens, who a client is, and signing keys.
export {
  type CheckedRequest,
  checkRequest,
  type ClientRequest,
  errorAddress,
  errorOfNeed,
  findClientRequest,
  findKeptRequest,
  findNeed,
  issueCode,
  keepRequest,
  type Need,
} from "./authorize.ts";
export { authenticateClient, readClientCredentials } from "./client_authentication.ts";
export { exchangeCode, readUserinfo, refreshTokens, type TokenResponse } from "./tokens.ts";
export {
  beginDevice,
  decideOnDevice,
  enterDeviceCode,
  type EnteredDevice,
  exchangeDeviceCode,
} from "./devices.ts";
export { isOfSession, type LogoutRequest, readLogout } from "./logout.ts";
export { oauthWork } from "./background.ts";
export { rotateSigningKeys } from "./key_rotation.ts";
export { introspectForOperator, introspectToken, revokeClientToken } from "./introspection.ts";
export {
  changeResource,
  createResource,
  deleteResource,
  getResource,
  listResources,
  rotateResourceSecret,
} from "./resources.ts";
export {
  documentPeopleMax,
  endDocumentClient,
  endUnlistedClients,
  getDocumentClient,
  listDocumentClients,
} from "./document_clients.ts";
export { type Application, listApplications, removeApplication } from "./applications.ts";
export {
  changeClient,
  type ClientChange,
  createClient,
  type CreatedClient,
  deleteClient,
  getClient,
  listClients,
  newClientSettings,
  rotateClientSecret,
} from "./clients.ts";
