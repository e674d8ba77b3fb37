// Enhances pages where scripts run: copy buttons, filters without a button, menus that close, and announcements of swapped
// pages. All listeners are on the document, so that swapped content needs none.

const copiedMs = 2_000;

// Elements that need scripts are shown only when this script runs.
document.documentElement.classList.add("scripts");

// htmx 4.0.1 would prevent Ctrl, Meta, Shift and Alt clicks on its links from opening tabs and windows.
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
  // A date changes with every key that is typed, so it waits for the button.
  if (event.target.type !== "date") event.target.closest("form[data-send-on-change]")?.requestSubmit();
});

offerOwnTimezone();
document.addEventListener("htmx:after:swap", offerOwnTimezone);

loadPasskeys();
document.addEventListener("htmx:after:swap", loadPasskeys);

// Sends a form only once, even if its button is clicked twice.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post") return;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "yes";
});
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

// Doesn't swap responses that aren't portal pages.
document.addEventListener("htmx:before:swap", (event) => {
  const { ctx, tasks } = event.detail;
  const content = tasks.find((task) => task.type === "main")?.fragment;
  if (!ctx.select || (content?.firstElementChild && !content.querySelector("main.gate"))) return;
  event.preventDefault();
  if (isRefresh(ctx)) return;
  if (ctx.request.method === "GET" || ctx.response.raw.redirected) location.assign(ctx.response.raw.url);
  else say("Something went wrong. Reload the page and try again.");
});

// Doesn't refresh hidden pages.
document.addEventListener("htmx:config:request", (event) => {
  if (isRefresh(event.detail.ctx) && document.hidden) event.preventDefault();
});

document.addEventListener("htmx:before:request", () => say(""));
document.addEventListener("htmx:error", () => say("Connection failed. Try again."));

// Announces a new page and moves the focus to its start, or scrolls to the error, which htmx may have scrolled past.
document.addEventListener("htmx:after:swap", (event) => {
  const { ctx } = event.detail;
  if (ctx.select !== "#main" || isRefresh(ctx)) return;
  const main = document.getElementById("main");
  const news = [...main.querySelectorAll("[role=alert], [role=status], .refusal")]
    .find(({ textContent }) => textContent.trim() !== "");
  // Screen readers read a focused field with its error. The document still has the previous page's title.
  const isRead = document.activeElement.matches("[aria-invalid]");
  document.getElementById("announcer").textContent = isRead ? "" : news?.textContent ?? ctx.title;
  if (document.activeElement === document.body) main.focus({ preventScroll: true });
  const wanted = document.activeElement.autofocus ? document.activeElement : news;
  if (ctx.request.method !== "GET") wanted?.scrollIntoView({ block: "nearest" });
});

forgetMessage();
document.addEventListener("htmx:after:swap", forgetMessage);

async function copy(button, source) {
  const words = button.querySelector("[data-copy-words]");
  button.dataset.words ??= words.textContent;
  words.textContent = await isCopied(source) ? "Copied" : "Selected. Press Ctrl+C";
  document.getElementById("announcer")?.replaceChildren(words.textContent);
  setTimeout(() => (words.textContent = button.dataset.words), copiedMs);
}

// Pages without https can't use the clipboard, so the text is selected instead.
async function isCopied(source) {
  try {
    await navigator.clipboard.writeText(source.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(source);
    return false;
  }
}

// Lists the browser's own time zone first, after UTC.
function offerOwnTimezone() {
  const select = document.querySelector("select[name=timezone]:not([data-own])");
  const own = browserName(undefined);
  if (!select || !own || own === browserName("UTC")) return;
  select.dataset.own = own;
  // Browsers use older names than the page for some zones.
  const zone = [...select.options].map(({ value }) => value).find((name) => browserName(name) === own) ?? own;
  const place = zone.split("/").at(-1).replaceAll("_", " ");
  select.options[0].after(new Option(`${place} (this browser)`, zone, false, select.value === zone));
}

// Loads the passkey script only on pages with a passkey form.
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

// Shows a success message only once: not after a reload or when going back.
function forgetMessage() {
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
