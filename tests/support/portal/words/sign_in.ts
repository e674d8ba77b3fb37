// Words about signing in on pages.
export const signInWords = {
  wrongCredentials: "Incorrect email or password.",
  wrongCode: "This code is incorrect or was already used.",
  newCodeSoon: "Your app shows a new one every 30 seconds.",
  codesLocked: "Too many wrong codes were entered. Use a recovery code or a passkey, or reset your password.",
  locked: "accepted again once you change your password.",
  secondStep: "Two-step sign-in",
  setUp: "Set up two-step sign-in",
  turnOn: "Turn on",
  codesShownOnce: "Save them now. They are shown only once.",
  onlyHere: "Only here",
  passkeysNeedScripts: "Passkeys require JavaScript",
  passkeyAdded: "Passkey added. You can sign in with it from now on.",
  passkeyRejected: "This passkey was rejected. Try again, or sign in another way.",
  conflict: "You were signed in to two accounts. Sign in again.",
};

/** @returns An expression that finds a text in a page. */
export function inPage(text: string): RegExp {
  return new RegExp(RegExp.escape(text.replaceAll("'", "&#39;")));
}
