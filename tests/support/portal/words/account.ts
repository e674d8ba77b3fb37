// Words about accounts on pages and in command output.
export const accountWords = {
  deadLink: "This link doesn&#39;t work",
  otherAccount: "This link is for another account",
  signUpClosed: "Sign-up is closed",
  unknownEmail: "no account has this email address",
};

/** A notice on a page: the last action worked, or didn't. */
export const doneNotice = /class="note done"/;
export const rejectedNotice = /class="note error"/;
