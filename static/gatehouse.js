// Single sign-on for pages of products: the current user, signing in and out, and changes elsewhere. Has no dependencies, does
// nothing until it is called, and uses the service that it was loaded from.

const service = new URL(import.meta.url).origin;
const events = [[globalThis, "focus"], [globalThis, "pageshow"], [globalThis.document, "visibilitychange"]];
// Otherwise later calls could wait forever for the same request.
const timeoutMs = 10_000;
const listeners = new Set();
/** The last known user, as JSON. */
let known;
/** The current request for the user. */
let loading;
/** Counts sign-outs, switches and other changes. A response to a request from before the last one is outdated. */
let changes = 0;
/** Resolves when all sign-outs and switches are done. */
let pending;

export class GatehouseError extends Error {
  constructor(status, { error = {}, requestId = null }) {
    super(error.message ?? `The service returned status ${status}.`);
    this.name = "GatehouseError";
    Object.assign(this, { status, code: error.code ?? "unknown", requestId });
  }
}

export function me() {
  return loading ??= loadUser().finally(() => (loading = undefined));
}

/** Goes to the sign-in page, and back to `returnTo` afterwards. */
export function signIn({ returnTo = location.href } = {}) {
  const back = new URL(returnTo, location.href);
  // The service rejects longer URLs.
  if (back.href.length > 2_000) back.search = back.hash = "";
  location.assign(`${service}/sign-in?return_to=${encodeURIComponent(back.href)}`);
}

export async function signOut() {
  // Sent immediately, without waiting for other requests.
  await change("sign-out", { method: "POST" });
  update({ authenticated: false, user: null, organizationId: null, role: null, memberships: [] });
}

export async function switchOrganization(id) {
  const body = JSON.stringify({ organizationId: id });
  const init = { method: "POST", headers: { "Content-Type": "application/json" }, body };
  // In order, so that the last call wins.
  const { body: user, isOutdated } = await change("organization", init, { after: pending });
  if (!isOutdated) return update(user);
  refresh();
  return user;
}

/** Calls `listener` when the current user changes. Returns a function that stops that. */
export function onChange(listener) {
  // The same function can be added twice.
  const entry = (user) => listener(user);
  if (listeners.size === 0) { for (const [target, type] of events) target.addEventListener(type, refresh); }
  listeners.add(entry);
  if (known === undefined) refresh();
  return () => {
    listeners.delete(entry);
    if (listeners.size === 0) {
      for (const [target, type] of events) {
        target.removeEventListener(type, refresh);
      }
    }
  };
}

function refresh(event) {
  // New pages call me() themselves. Pages from the history may be outdated.
  if (event?.type === "pageshow" && !event.persisted) return;
  // After an error, the next event tries again.
  if (!document.hidden) me().catch(() => {});
}

async function loadUser() {
  for (;;) {
    const before = changes;
    const user = await request("me");
    if (before === changes) return update(user);
  }
}

/** Sends a sign-out or switch, after the promise `after`. */
function change(path, init, { after } = {}) {
  const send = async () => {
    const before = changes;
    try {
      const body = await request(path, init);
      return { body, isOutdated: before !== changes };
    } finally {
      // A failed request may have had its effect.
      changes++;
    }
  };
  const mine = after === undefined ? send() : after.then(send);
  const all = Promise.allSettled([pending, mine]).then(() => {
    if (pending === all) pending = undefined;
  });
  pending = all;
  return mine;
}

async function request(path, init) {
  const response = await fetch(`${service}/api/auth/${path}`, {
    credentials: "include",
    cache: "no-store",
    signal: AbortSignal.timeout(timeoutMs),
    ...init,
  });
  const body = await response.json().catch(() => null);
  if (response.status === 204 || (response.ok && body !== null)) return body;
  throw new GatehouseError(response.status, body ?? {});
}

function update(user) {
  const text = JSON.stringify(user);
  const hasChanged = known !== undefined && known !== text;
  known = text;
  if (hasChanged) {
    changes++;
    for (const listener of [...listeners]) notify(listener, user);
  }
  return user;
}

function notify(listener, user) {
  try {
    listener(user);
  } catch (error) {
    reportError(error);
  }
}
