// What pages and commands say about accounts, for tests that look for it.
export const accountWords = {
  emailTaken: "An account with this email address already exists",
  unknownEmail: "no account has this email address",
  signUpClosed: "Sign-up is closed",
};
