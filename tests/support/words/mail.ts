// What the program logs about emails, for tests that look for it.
export const mailLog = {
  dropped: "dropped an email with an invalid link",
  gaveUp: "gave up on an email",
  serverFails: "the mail server accepts no emails; retrying",
  serverWorks: "the mail server accepts emails again",
};
