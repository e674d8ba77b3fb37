// Words about accounts on pages and in command output.
export const accountWords = {
  byInvitation: "By invitation only",
  checkEmail: "Check your email",
  confirmed: ">Confirmed<",
  deadLink: "This link doesn&#39;t work",
  emailTaken: "An account with this email address already exists",
  notConfirmed: ">Not confirmed<",
  otherAccount: "This link is for another account",
  signUpClosed: "Sign-up is closed",
  takenAddress: "This email address is taken",
  unknownEmail: "no account has this email address",
};

/** A notice on a page: the last action worked, or didn't. */
export const doneNotice = /class="note done"/;
export const rejectedNotice = /class="note error"/;
