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
  if (button) copy(button, document.getElementById(button.dataset.copy) ?? button.previousElementSibling);
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

// Opens the search above the page. A slash opens it outside of fields.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-palette]");
  if (!link) return;
  event.preventDefault();
  openPalette(link);
});
document.addEventListener("keydown", (event) => {
  const hasModifier = event.ctrlKey || event.metaKey;
  const isField = event.target.closest("input, select, textarea");
  const isShortcut = hasModifier ? event.key.toLowerCase() === "k" : event.key === "/" && !isField;
  const link = document.querySelector("a[data-palette]");
  if (!isShortcut || event.altKey || !link || document.querySelector("dialog[open]")) return;
  event.preventDefault();
  openPalette(link);
});

document.addEventListener("change", ({ target }) => {
  const form = target.closest("form.selection");
  if (form) countSelected(form);
});
document.addEventListener("click", ({ target }) => {
  const form = target.closest("[data-select-all]")?.form;
  if (!form) return;
  for (const box of form.querySelectorAll("[type=checkbox]")) box.checked = true;
  countSelected(form);
});

// Shortens a pasted key to its prefix before it is sent: addresses are logged and remembered.
document.addEventListener("submit", ({ target }) => {
  for (const input of target.querySelectorAll("input[type=search]")) input.value = cutKey(input.value);
}, true);

document.addEventListener("change", (event) => {
  // A date changes with every key that is typed, so it waits for the button.
  if (event.target.type !== "date") event.target.closest("form[data-send-on-change]")?.requestSubmit();
});

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
  if (!ctx.select || (content?.firstElementChild && !content.querySelector("main.gate, .doc"))) return;
  event.preventDefault();
  if (isRefresh(ctx)) return;
  // A proxy says so while the server starts again. The page stays, with what was typed.
  if (ctx.response.raw.status >= 500) return sayFailed(ctx, "The server isn't available right now.");
  if (ctx.request.method === "GET" || ctx.response.raw.redirected) location.assign(ctx.response.raw.url);
  else say("Something went wrong. Reload the page and try again.");
});

// Doesn't refresh hidden pages.
document.addEventListener("htmx:config:request", (event) => {
  if (isRefresh(event.detail.ctx) && document.hidden) event.preventDefault();
});

document.addEventListener("htmx:before:request", () => say(""));
document.addEventListener("htmx:error", ({ detail: { ctx } }) => {
  if (ctx && !isRefresh(ctx)) sayFailed(ctx, "Connection failed.");
});

// A submitted form is replaced in the history, so that Back leads to the page before it: the form's own address is not a page.
document.addEventListener("htmx:before:history:update", (event) => {
  const { history, response, sourceElement } = event.detail;
  if (sourceElement.method !== "post") return;
  if (response.raw.redirected || response.raw.headers.has("HX-Push-Url")) history.type = "replace";
  else event.preventDefault();
});

// The control that was used, and whether the response is the same page.
let used = null;

document.addEventListener("htmx:config:request", ({ detail: { ctx } }) => {
  if (!isRefresh(ctx)) used = { ...keyOf(document.activeElement), isSamePage: false };
});

// A page that is loaded again keeps its place, except at the start of another part of a list.
document.addEventListener("htmx:before:swap", ({ detail: { ctx, tasks } }) => {
  const main = tasks.find((task) => task.type === "main");
  if (!used || !main || isRefresh(ctx)) return;
  const { raw } = ctx.response;
  const isSameAddress = new URL(raw.url).pathname === location.pathname;
  used.isSamePage = !used.isPageLink && (isForm(ctx) && !raw.redirected ? !raw.ok : isSameAddress);
  if (used.isSamePage) main.swapSpec.show = null;
});

// Announces the news, or the page, or its new number. The focus stays on the control that was used, or moves to the start of
// another page. Then scrolls to the news, which htmx may have scrolled past.
document.addEventListener("htmx:after:swap", (event) => {
  const { ctx } = event.detail;
  if (ctx.select !== "#main" || isRefresh(ctx)) return;
  const main = document.getElementById("main");
  const news = [...main.querySelectorAll("[role=alert], [role=status], .field-error")]
    .find(({ textContent }) => textContent.trim() !== "");
  const total = used?.isSamePage && main.querySelector("[data-announce]")?.dataset.announce;
  // Screen readers read a focused field with its error. The document still has the previous page's title.
  const isRead = document.activeElement.matches("[aria-invalid]");
  document.getElementById("announcer").textContent = isRead ? "" : news?.textContent ?? (total || ctx.title);
  if (document.activeElement === document.body) {
    (used?.isSamePage && findUsed(used) || main).focus({ preventScroll: true });
  }
  const wanted = document.activeElement.autofocus ? document.activeElement : news;
  if (isForm(ctx)) wanted?.scrollIntoView({ block: "nearest" });
});

// Shows or hides what is typed as a password. Browsers must not remember it as text.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-show]");
  if (button) show(button, document.getElementById(button.dataset.show).type === "password");
});
document.addEventListener("submit", (event) => {
  for (const button of event.target.querySelectorAll("[data-show]")) show(button, false);
}, true);

for (const enhance of [offerOwnTimezone, loadScripts, forgetMessage, joinBars, addCopyButtons]) {
  enhance();
  document.addEventListener("htmx:after:swap", enhance);
}

function isForm(ctx) {
  return ctx.request.method !== "GET";
}

function show(button, isShown) {
  document.getElementById(button.dataset.show).type = isShown ? "text" : "password";
  button.firstElementChild.textContent = isShown ? "Hide" : "Show";
}

// Where a control is: the labelled part of the page, its kind and name, and its number there. A menu stands for what is in it.
function keyOf(element) {
  const control = element.closest("details.menu")?.querySelector("summary") ?? element;
  const box = boxOf(control);
  const peers = [...box.querySelectorAll(control.localName)];
  return {
    box: box.id === "main" ? null : box.getAttribute("aria-label"),
    kind: control.localName,
    name: nameOf(control),
    index: peers.indexOf(control),
    isPageLink: control.closest("nav.pages") !== null,
  };
}

function findUsed({ box, kind, name, index }) {
  const main = document.getElementById("main");
  const place = box === null ? main : main.querySelector(`[aria-label="${CSS.escape(box)}"]`);
  const peers = [...place?.querySelectorAll(kind) ?? []];
  return peers.find((peer) => nameOf(peer) === name) ?? peers[index];
}

function boxOf(control) {
  return control.parentElement?.closest("#main [aria-label]") ?? document.getElementById("main");
}

function nameOf(control) {
  return control.id || control.dataset.key || control.name || control.ariaLabel || control.textContent.trim();
}

// Ids get their buttons here, so that long lists of them are no heavier.
function addCopyButtons() {
  for (const code of document.querySelectorAll("code.pick:not(.secret > *)")) {
    if (code.nextElementSibling?.matches(".copy")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.dataset.copy = "";
    button.innerHTML =
      `<svg class="icon" width="14" height="14" viewBox="0 0 16 16" fill="none" stroke="currentColor"
      stroke-width="1.5" aria-hidden="true"><path d="M5.500 5.500h8v8h-8zM3.500 10.500h-1v-8h8v1"/></svg><span
      class="unseen" data-copy-words></span>`;
    const before = code.closest("dd")?.previousElementSibling;
    const label = before?.localName === "dt" ? before.textContent : code.textContent;
    button.lastChild.textContent = `Copy ${label}`;
    code.after(button);
  }
}

async function copy(button, element) {
  const words = button.querySelector("[data-copy-words]");
  button.dataset.words ??= words.textContent;
  words.textContent = await isCopied(element) ? "Copied" : "Selected. Press Ctrl+C";
  button.dataset.copied = "";
  document.getElementById("announcer")?.replaceChildren(words.textContent);
  setTimeout(() => {
    words.textContent = button.dataset.words;
    delete button.dataset.copied;
  }, copiedMs);
}

// Pages without https can't use the clipboard, so the text is selected instead.
async function isCopied(element) {
  try {
    // Without the languages that aren't shown. A prefix is found without its ellipsis.
    await navigator.clipboard.writeText(element.innerText.replace(/…$/, ""));
    return true;
  } catch {
    getSelection().selectAllChildren(element);
    return false;
  }
}

// Lists the browser's own time zone first, after UTC.
function offerOwnTimezone() {
  const own = browserName(undefined);
  if (!own || own === browserName("UTC")) return;
  for (const select of document.querySelectorAll("select[name=timezone]:not([data-own])")) {
    select.dataset.own = own;
    // Browsers use older names than the page for some zones.
    const zone = [...select.options].map(({ value }) => value).find((name) => browserName(name) === own) ??
      own;
    const place = zone.split("/").at(-1).replaceAll("_", " ");
    select.options[0].after(new Option(`${place} (this browser)`, zone, false, select.value === zone));
  }
}

// Loads the scripts of forms only on pages that need them.
async function loadScripts() {
  const addresses = [...document.querySelectorAll("[data-script]")].map(({ dataset }) => dataset.script);
  for (const address of new Set(addresses)) (await import(address)).offer();
}

// Says in the button how many keys of a list are selected.
function countSelected(form) {
  const count = form.querySelectorAll(":checked").length;
  form.querySelector("[type=submit]").textContent = `Revoke ${count} ${count === 1 ? "key" : "keys"}…`;
  document.getElementById("announcer").textContent = `${count} selected`;
}

async function openPalette(link) {
  try {
    (await import(link.dataset.palette)).open(link, cutKey);
  } catch {
    location.assign(link.href);
  }
}

// As `searchTextOf` in domain/search.ts.
function cutKey(typed) {
  const text = typed.trim();
  return /[a-z][a-z0-9]{1,15}_(?:live|test|operator)_[0-9A-Za-z]{8}/.exec(text)?.[0] ??
    text.replace(/^([0-9A-Za-z]{8})[0-9A-Za-z]{30}$/, "$1");
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
  url.searchParams.delete("id");
  history.replaceState(history.state, "", url);
}

function isRefresh(ctx) {
  return ctx.sourceEvent?.type === "every";
}

function say(...content) {
  document.getElementById("trouble")?.replaceChildren(...content);
}

// Offers to send a request again as it was sent: by its link, or its form with the button that was used.
function sayFailed({ sourceElement, sourceEvent }, text) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button";
  button.textContent = "Retry";
  button.addEventListener("click", () => {
    if (sourceElement.localName === "form") sourceElement.requestSubmit(sourceEvent?.submitter ?? null);
    else if (sourceElement.isConnected && sourceElement.localName === "a") sourceElement.click();
    else location.reload();
  });
  say(text, button);
}

// Shows the current page's entry and what is below it, however long the navigation is.
const docsPlace = document.querySelector(".docs-side > .places [aria-current]");
if (docsPlace) {
  const places = docsPlace.closest(".places");
  const top = docsPlace.getBoundingClientRect().top - places.getBoundingClientRect().top;
  if (top > places.clientHeight * 0.6) places.scrollTop = top - places.clientHeight / 3;
}

// Examples: chooses a language everywhere on the page, and remembers it.
document.addEventListener("change", ({ target }) => {
  if (!target.closest(".langs")) return;
  chooseLanguage(target.value);
  localStorage.setItem("language", target.value);
});
if (document.querySelector(".langs")) chooseLanguage(localStorage.getItem("language"));

function chooseLanguage(language) {
  for (const input of document.querySelectorAll(".langs input")) {
    if (input.value === language) input.checked = true;
  }
}

// The bars of a chart are one tab stop. Arrow keys, Home and End move between them, and Escape hides the box of numbers.
function joinBars() {
  for (const hits of document.querySelectorAll(".hits")) {
    const bars = [...hits.querySelectorAll("[aria-label]")];
    const stop = bars.includes(document.activeElement) ? document.activeElement : bars.at(-1);
    for (const bar of bars) bar.tabIndex = bar === stop ? 0 : -1;
  }
}
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    for (const hits of document.querySelectorAll(".hits:is(:hover, :focus-within)")) {
      hits.classList.add("quiet");
    }
  }
  const hits = event.target.closest(".hits");
  if (!hits) return;
  const bars = [...hits.querySelectorAll("[aria-label]")];
  const at = bars.indexOf(event.target);
  const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: bars.length - 1 }[event.key];
  if (next === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  (bars[next] ?? event.target).focus();
});

for (const type of ["focusin", "pointerover"]) {
  document.addEventListener(type, (event) => {
    const hits = event.target.closest(".hits");
    hits?.classList.remove("quiet");
    if (hits && type === "focusin") joinBars();
  });
}

// The first tap on a bar shows its numbers, the second follows the link.
let tapped = null;
document.addEventListener("click", (event) => {
  const bar = event.target.closest("a.hit");
  if (bar && bar !== tapped && event.pointerType === "touch") {
    event.preventDefault();
    event.stopImmediatePropagation();
    bar.focus();
  }
  tapped = bar;
}, true);

// In a product's app: tells the page around the frame how high this one is.
const embedded = document.querySelector(".embedded");
if (embedded && parent !== globalThis) {
  const allowed = embedded.dataset.origins.split(" ");
  // Firefox doesn't tell which page it is: then only the right one of them gets the message.
  const origins = location.ancestorOrigins ? [location.ancestorOrigins[0]] : allowed;
  new ResizeObserver(() => {
    const message = { type: "gatehouse:height", height: Math.ceil(embedded.getBoundingClientRect().height) };
    for (const origin of origins) if (allowed.includes(origin)) parent.postMessage(message, origin);
  }).observe(embedded);
}
