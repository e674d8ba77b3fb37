// Pages of signing in, accounts and organizations.
export { providerFacts, SignInBadge } from "./company_sign_in.tsx";
