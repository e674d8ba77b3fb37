// Pages of the OpenID provider.
export { consentPage } from "./consent.tsx";
