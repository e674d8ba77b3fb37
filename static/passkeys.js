// Passkeys in the browser: asks for one, and sends its response with the form. portal.js loads it on pages with such a form.

const isSupported = isSecureContext && typeof PublicKeyCredential === "function" &&
  "parseCreationOptionsFromJSON" in PublicKeyCredential && "toJSON" in PublicKeyCredential.prototype;

const messages = {
  NotAllowedError: "That was canceled or took too long. Try again.",
  InvalidStateError: "This device already has a passkey for this account.",
  SecurityError: "Passkeys don't work at this address.",
  TypeError: "You're offline. Try again when you're connected.",
};

/** Shows the forms, or a note if passkeys aren't available. */
export function offer() {
  for (const form of document.querySelectorAll("form[data-passkey]")) form.hidden = !isSupported;
  for (const note of document.querySelectorAll("[data-passkeys-missing]")) note.hidden = isSupported;
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.dataset.passkey) return;
  event.preventDefault();
  submit(form);
}, true);

// Going back to a page shows its form as it was sent.
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-passkey]")) release(form);
});

async function submit(form) {
  const button = form.querySelector("button");
  if (button.disabled) return;
  button.disabled = true;
  showError(form, "");
  try {
    const options = await fetchOptions(form);
    if (options === null) return;
    form.elements.response.value = JSON.stringify((await ask(form, options)).toJSON());
    // Dispatches no new event: the fields were checked when the button was pressed.
    form.submit();
  } catch (error) {
    release(form);
    showError(form, error.publicMessage ?? messages[error.name] ?? "Something went wrong. Try again.");
  }
}

function ask({ dataset }, options) {
  const { credentials } = navigator;
  return dataset.passkey === "create"
    ? credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
    : credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
}

async function fetchOptions({ dataset }) {
  const response = await fetch(dataset.options, { method: "POST" });
  const { options, error } = await response.json();
  if (response.ok) return options;
  if (error.code !== "proof_required" || !dataset.reauthenticate) {
    throw Object.assign(new Error(error.code), { publicMessage: error.message });
  }
  location.assign(dataset.reauthenticate);
  return null;
}

function release(form) {
  form.elements.response.value = "";
  form.querySelector("button").disabled = false;
}

function showError(form, text) {
  form.querySelector("[data-passkey-error]").textContent = text;
}
