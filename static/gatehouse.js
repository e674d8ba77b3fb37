// @ts-self-types="./gatehouse.d.ts"
// Single sign-on in a product's page: who is signed in, signing in and out, and noticing when that changes elsewhere.
// Needs nothing, does nothing until it is called, and finds the service by where it was loaded from.

const service = new URL(import.meta.url).origin;
const events = [[globalThis, "focus"], [globalThis, "pageshow"], [globalThis.document, "visibilitychange"]];
// Without an answer the next look would wait for ever.
const timeoutMs = 10_000;
const listeners = new Set();
/** The last answer, as a text. */
let known;
/** The one request for who is signed in that is on its way. */
let asking;
/** Sign-outs, switches and other news so far: an answer that was asked for before the last one is an old one. */
let changes = 0;
/** Done when no sign-out or switch is on its way any more. */
let acting;

/** The service refused; `code` is the API's. */
export class GatehouseError extends Error {
  constructor(status, { error = {}, requestId = null }) {
    super(error.message ?? `The service answered ${status}.`);
    this.name = "GatehouseError";
    Object.assign(this, { status, code: error.code ?? "unknown", requestId });
  }
}

/** Who is signed in. Nobody is an answer, not an error. */
export function me() {
  return asking ??= ask().finally(() => (asking = undefined));
}

/** Goes to the sign-in page, and back to `returnTo` afterwards: to this page unless given. */
export function signIn({ returnTo = location.href } = {}) {
  const back = new URL(returnTo, location.href);
  // The service takes none that is longer: better back without its state than nowhere.
  if (back.href.length > 2_000) back.search = back.hash = "";
  location.assign(`${service}/sign-in?return_to=${encodeURIComponent(back.href)}`);
}

/** Ends the session, for every product. */
export async function signOut() {
  // At once, whatever else is on its way.
  await act("sign-out", { method: "POST" });
  note({ authenticated: false, user: null, organizationId: null, role: null, memberships: [] });
}

/** Makes another of the person's organizations the active one, for every product. */
export async function switchOrganization(id) {
  const body = JSON.stringify({ organizationId: id });
  const init = { method: "POST", headers: { "Content-Type": "application/json" }, body };
  // One after the other: what is called last is what the service sees last.
  const { answer, isOld } = await act("organization", init, { after: acting });
  if (!isOld) return note(answer);
  look();
  return answer;
}

/** Calls `listener` with who is signed in, whenever that is no longer what it was. Call what it returns to end that. */
export function onChange(listener) {
  // The same function may listen twice.
  const entry = (user) => listener(user);
  if (listeners.size === 0) { for (const [target, type] of events) target.addEventListener(type, look); }
  listeners.add(entry);
  if (known === undefined) look();
  return () => {
    listeners.delete(entry);
    if (listeners.size === 0) { for (const [target, type] of events) target.removeEventListener(type, look); }
  };
}

function look(event) {
  // A page that has just been loaded asks for itself; one that comes out of the history is an old one.
  if (event?.type === "pageshow" && !event.persisted) return;
  // What cannot be asked now is asked when somebody looks the next time.
  if (!document.hidden) me().catch(() => {});
}

async function ask() {
  for (;;) {
    const before = changes;
    const user = await call("me");
    if (before === changes) return note(user);
  }
}

/** @param options `after`: what it waits for, if anything. */
function act(path, init, { after } = {}) {
  const send = async () => {
    const before = changes;
    try {
      const answer = await call(path, init);
      return { answer, isOld: before !== changes };
    } finally {
      // When it failed it may have happened all the same.
      changes++;
    }
  };
  const mine = after === undefined ? send() : after.then(send);
  const all = Promise.allSettled([acting, mine]).then(() => {
    if (acting === all) acting = undefined;
  });
  acting = all;
  return mine;
}

async function call(path, init) {
  const answer = await fetch(`${service}/api/auth/${path}`, {
    credentials: "include",
    cache: "no-store",
    signal: AbortSignal.timeout(timeoutMs),
    ...init,
  });
  const body = await answer.json().catch(() => null);
  if (answer.status === 204 || (answer.ok && body !== null)) return body;
  throw new GatehouseError(answer.status, body ?? {});
}

function note(user) {
  const text = JSON.stringify(user);
  const isNews = known !== undefined && known !== text;
  known = text;
  if (isNews) {
    changes++;
    for (const listener of [...listeners]) tell(listener, user);
  }
  return user;
}

function tell(listener, user) {
  try {
    listener(user);
  } catch (error) {
    reportError(error);
  }
}
