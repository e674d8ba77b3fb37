// The search above a page, with the results of the search page. portal.js loads it with the first search. The arrow keys move through
// the results and what can be done with them, and Enter in the field opens the first one.

const waitMs = 120;
/** The open dialog, the text whose results it has, and the request for others. */
let dialog = null;
let shown = null;
let request = null;

/** `link`: to the search page; its label says what is searched. `cutKey`: shortens a pasted key. */
export function open(link, cutKey) {
  if (dialog) return;
  dialog = document.createElement("dialog");
  dialog.className = "palette finder";
  dialog.ariaLabel = "Search";
  dialog.innerHTML =
    `<form class="search" role="search"><input type="search" autocomplete="off" spellcheck="false"
    maxlength="200" autofocus><button type="button" class="button quiet">Close</button></form>
    <p class="unseen" role="status"></p><div class="found"></div>`;
  const form = dialog.querySelector("form");
  const [input] = form.elements;
  form.prepend(link.querySelector("svg").cloneNode(true));
  input.ariaLabel = input.placeholder = link.ariaLabel;
  const showResults = () => show(link.href, cutKey(input.value));
  let timer = 0;
  input.addEventListener("input", () => {
    const text = cutKey(input.value);
    if (input.value.trim() !== text) input.value = text;
    clearTimeout(timer);
    timer = setTimeout(showResults, waitMs);
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    clearTimeout(timer);
    if (shown !== cutKey(input.value)) await showResults();
    results()[0]?.click();
  });
  dialog.addEventListener("keydown", (event) => move(event, input));
  dialog.addEventListener("click", ({ target }) => {
    if (target === dialog || target.closest(".search > .button")) dialog.close();
  });
  dialog.addEventListener("close", () => {
    request?.abort();
    dialog.remove();
    dialog = shown = null;
  });
  document.body.append(dialog);
  dialog.showModal();
  showResults();
}

// A page to which someone goes back has no open search.
addEventListener("pagehide", () => dialog?.close());

/** Opens the search page instead if the response is another one, such as after the session has ended. */
async function show(href, text) {
  request?.abort();
  const { signal } = request = new AbortController();
  const status = dialog.querySelector("[role=status]");
  try {
    const response = await fetch(`${href}?q=${encodeURIComponent(text)}`, { signal });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const found = page.getElementById("found");
    if (signal.aborted) return;
    if (!found && response.status >= 500) throw new Error(`status ${response.status}`);
    if (!found) return location.assign(href);
    const summary = found.querySelector("[role=status]");
    summary.remove();
    status.className = summary.className;
    status.textContent = summary.textContent;
    dialog.querySelector(".found").replaceChildren(...found.childNodes);
    shown = text;
  } catch {
    if (!signal.aborted) status.textContent = "Connection failed. Try again.";
  }
}

function results() {
  return [...dialog?.querySelectorAll(".found .menu-item") ?? []];
}

function move(event, input) {
  const { key } = event;
  // A field of a search would only be emptied.
  if (key === "Escape") {
    event.preventDefault();
    return dialog.close();
  }
  const active = document.activeElement;
  const item = active.closest(".found li");
  const stops = [input, ...results()];
  const at = stops.indexOf(item?.querySelector(".menu-item") ?? active);
  const next = { ArrowDown: at + 1, ArrowUp: at - 1 }[key];
  // What can be done with a result is beside it.
  const beside = item &&
    { ArrowRight: active.nextElementSibling, ArrowLeft: active.previousElementSibling }[key];
  if (beside) beside.focus();
  if (next !== undefined && at !== -1) {
    event.preventDefault();
    stops.at(next % stops.length).focus();
  } else if (at > 0 && key.length === 1 && key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey) {
    // What is typed goes into the field.
    input.focus();
  }
}
