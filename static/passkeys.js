// Passkeys in the browser: asks one, and sends its answer with the form. Loaded by portal.js on pages that have such a form.

const isThere = isSecureContext && typeof PublicKeyCredential === "function" &&
  "parseCreationOptionsFromJSON" in PublicKeyCredential && "toJSON" in PublicKeyCredential.prototype;

const troubles = {
  NotAllowedError: "That was cancelled, or took too long. Try again.",
  InvalidStateError: "There is a passkey for this account on this device already.",
  SecurityError: "Passkeys do not work at this address.",
  TypeError: "That did not work: there is no connection. Try again.",
};

/** Shows the forms, or says that there are no passkeys here. */
export function offer() {
  for (const form of document.querySelectorAll("form[data-passkey]")) form.hidden = !isThere;
  for (const words of document.querySelectorAll("[data-passkeys-missing]")) words.hidden = isThere;
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.dataset.passkey) return;
  event.preventDefault();
  answer(form);
}, true);

// Whoever comes back to a page asks the passkey once more.
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-passkey]")) release(form);
});

async function answer(form) {
  const button = form.querySelector("button");
  if (button.disabled) return;
  button.disabled = true;
  say(form, "");
  try {
    const options = await fetchOptions(form);
    if (options === null) return;
    form.elements.response.value = JSON.stringify((await ask(form, options)).toJSON());
    // Without a new event: the fields were checked when the button was pressed.
    form.submit();
  } catch (error) {
    release(form);
    say(form, error.words ?? troubles[error.name] ?? "That did not work. Try again.");
  }
}

function ask({ dataset }, options) {
  const { credentials } = navigator;
  return dataset.passkey === "create"
    ? credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
    : credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
}

async function fetchOptions({ dataset }) {
  const answer = await fetch(dataset.options, { method: "POST" });
  const { options, error } = await answer.json();
  if (answer.ok) return options;
  if (error.code !== "proof_required" || !dataset.proof) {
    throw Object.assign(new Error(error.code), { words: error.message });
  }
  location.assign(dataset.proof);
  return null;
}

function release(form) {
  form.elements.response.value = "";
  form.querySelector("button").disabled = false;
}

function say(form, text) {
  form.querySelector("[data-passkey-trouble]").textContent = text;
}
