// What the pages gain where scripts run: copying, filters that need no button, menus that close, and htmx's pages
// arriving as a whole page would. Listens on the document only, so that swapped content needs nothing.

const copiedMs = 2_000;

// What works with scripts alone is shown once this one runs, and not because a browser could run it.
document.documentElement.classList.add("scripts");

// htmx 4.0.1 prevents what Ctrl, Meta, Shift and Alt do to a click on its links: a new tab, a new window.
document.addEventListener("click", (event) => {
  const hasModifier = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
  if (hasModifier && event.target.closest("a[href]")) event.stopImmediatePropagation();
}, true);

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button) copy(button, document.getElementById(button.dataset.copy));
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && document.querySelector("details.menu[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

document.addEventListener("change", (event) => {
  // A day changes with every key that is typed: it waits for its button.
  if (event.target.type !== "date") event.target.closest("form[data-send-on-change]")?.requestSubmit();
});

offerOwnTimezone();
document.addEventListener("htmx:after:swap", offerOwnTimezone);

loadPasskeys();
document.addEventListener("htmx:after:swap", loadPasskeys);

// A form that the browser sends itself is sent once, however often its button is pressed.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post") return;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "yes";
});
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

// An answer that is not one of the portal's pages is not put into one.
document.addEventListener("htmx:before:swap", (event) => {
  const { ctx, tasks } = event.detail;
  const content = tasks.find((task) => task.type === "main")?.fragment;
  if (!ctx.select || (content?.firstElementChild && !content.querySelector("main.gate"))) return;
  event.preventDefault();
  if (isRefresh(ctx)) return;
  if (ctx.request.method === "GET" || ctx.response.raw.redirected) location.assign(ctx.response.raw.url);
  else say("That did not work. Reload the page and try again.");
});

// A page that nobody looks at is not refreshed.
document.addEventListener("htmx:config:request", (event) => {
  if (isRefresh(event.detail.ctx) && document.hidden) event.preventDefault();
});

document.addEventListener("htmx:before:request", () => say(""));
document.addEventListener("htmx:error", () => say("That did not work: there is no connection. Try again."));

// A new page is read out, and the keyboard goes on at its beginning, or at what was refused: htmx has scrolled past that.
document.addEventListener("htmx:after:swap", (event) => {
  const { ctx } = event.detail;
  if (ctx.select !== "#main" || isRefresh(ctx)) return;
  const main = document.getElementById("main");
  const news = [...main.querySelectorAll("[role=alert], [role=status], .refusal")]
    .find(({ textContent }) => textContent.trim() !== "");
  // A refused field that has the focus is read out with its message. The document has the title of the page before.
  const isRead = document.activeElement.matches("[aria-invalid]");
  document.getElementById("announcer").textContent = isRead ? "" : news?.textContent ?? ctx.title;
  if (document.activeElement === document.body) main.focus({ preventScroll: true });
  const wanted = document.activeElement.autofocus ? document.activeElement : news;
  if (ctx.request.method !== "GET") wanted?.scrollIntoView({ block: "nearest" });
});

forgetNews();
document.addEventListener("htmx:after:swap", forgetNews);

async function copy(button, source) {
  const words = button.querySelector("[data-copy-words]");
  button.dataset.words ??= words.textContent;
  words.textContent = await isCopied(source) ? "Copied" : "Selected: now copy it";
  document.getElementById("announcer")?.replaceChildren(words.textContent);
  setTimeout(() => (words.textContent = button.dataset.words), copiedMs);
}

// The clipboard is closed to pages without https: then the text is selected, for the keyboard to copy.
async function isCopied(source) {
  try {
    await navigator.clipboard.writeText(source.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(source);
    return false;
  }
}

// The browser's own time zone is the one that most people look for: it stands first, after UTC.
function offerOwnTimezone() {
  const select = document.querySelector("select[name=timezone]:not([data-own])");
  const own = browserName(undefined);
  if (!select || !own || own === browserName("UTC")) return;
  select.dataset.own = own;
  // Browsers call some zones by older names than the page does.
  const zone = [...select.options].map(({ value }) => value).find((name) => browserName(name) === own) ?? own;
  const place = zone.split("/").at(-1).replaceAll("_", " ");
  select.options[0].after(new Option(`${place} (this browser)`, zone, false, select.value === zone));
}

// What passkeys need is loaded by the pages that have a form for them, and by no other.
async function loadPasskeys() {
  const form = document.querySelector("form[data-passkeys]");
  if (form) (await import(form.dataset.passkeys)).offer();
}

function browserName(timeZone) {
  try {
    return new Intl.DateTimeFormat("en", { timeZone }).resolvedOptions().timeZone;
  } catch {
    return null;
  }
}

// What was just done is told once: not again when the page is loaded anew, or when somebody comes back to it.
function forgetNews() {
  const url = new URL(location.href);
  if (!url.searchParams.has("done")) return;
  url.searchParams.delete("done");
  history.replaceState(history.state, "", url);
}

function isRefresh(ctx) {
  return ctx.sourceEvent?.type === "every";
}

function say(text) {
  const trouble = document.getElementById("trouble");
  if (trouble) trouble.textContent = text;
}
