// Words about signing in on pages.
export const signInWords = {
  wrongCredentials: "Incorrect email or password.",
  wrongCode: "This code is incorrect or was already used.",
  newCodeSoon: "Your app shows a new one every 30 seconds.",
  codesLocked: "Too many wrong codes were entered. Use a recovery code or a passkey, or reset your password.",
  startOver: "Too many wrong codes. Sign in again.",
  secondStep: "Two-step sign-in",
  continue: "Continue",
  confirmIdentity: "Confirm it's you",
  setUp: "Set up two-step sign-in",
  turnOn: "Turn on",
  turnOff: "Turn off two-step sign-in?",
  codesShownOnce: "Save them now. They are shown only once.",
  newCodes: "Create new recovery codes?",
  fewCodes: "You have few codes left",
  locked: "accepted again once you change your password.",
  thisSession: "This session",
  onlyHere: "Only here",
  passkeyExists: "This device already has a passkey for this account.",
  passkeyCanceled: "That was canceled or took too long. Try again.",
  passkeysNeedScripts: "Passkeys require JavaScript",
  passkeyAdded: "Passkey added. You can sign in with it from now on.",
  passkeyRemoved: "Passkey removed. It can no longer be used to sign in.",
  passkeyRejected: "This passkey was rejected. Try again, or sign in another way.",
  unreadableResponse: "Your browser's response couldn't be read. Try again.",
  passwordChanged: "Password changed. You're signed out everywhere else.",
  passwordReset: "Password changed. Sign in with the new one.",
  sessionEnded: "Session ended.",
  othersEnded: "You're signed out everywhere else.",
  signedOut: "You're signed out.",
  accountDeleted: "Your account has been deleted.",
  conflict: "You were signed in to two accounts. Sign in again.",
};

/** @returns An expression that finds a text in a page. */
export function inPage(text: string): RegExp {
  return new RegExp(RegExp.escape(text.replaceAll("'", "&#39;")));
}
