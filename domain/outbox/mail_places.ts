// Which emails are sent at the same time.

/** Emails that are sent at the same time, for how long one of them has such a place, and those with the slow ones. */
export const mailsAtOnceMax = 5;
export const mailSlowMs = 2_000;
export const mailsInProgressMax = 25;
/** Latest due emails among which the most urgent ones are searched. Takes a millisecond or two. */
export const mailsLookedAtMax = 500;
