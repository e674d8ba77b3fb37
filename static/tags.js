// Fields for words with commas between them: each word becomes a tag with a button that removes it. portal.js loads it on pages with
// such a field, which is still the one that is sent.

/** Enhances the fields of the page, once each. */
export function offer() {
  for (const field of document.querySelectorAll("input[data-script]")) enhance(field);
}

function enhance(field) {
  delete field.dataset.script;
  const box = document.createElement("div");
  box.className = "tag-box";
  const entry = field.cloneNode();
  entry.removeAttribute("name");
  entry.removeAttribute("maxlength");
  field.removeAttribute("id");
  field.type = "hidden";
  field.replaceWith(box);
  box.append(entry, field);
  const words = () => field.value.split(",").map((word) => word.trim()).filter((word) => word !== "");
  const set = (list) => {
    field.value = [...new Set(list)].join(", ");
    for (const tag of box.querySelectorAll("button")) tag.remove();
    entry.before(
      ...words().map((word) =>
        tagOf(word, () => {
          set(words().filter((one) => one !== word));
          entry.focus();
          document.getElementById("announcer").textContent = `${word} removed`;
        })
      ),
    );
    entry.placeholder = words().length === 0 ? field.placeholder : "";
  };
  const add = () => {
    set([...words(), entry.value.replaceAll(/\s*\+\s*/g, " + ")]);
    entry.value = "";
  };
  entry.value = "";
  set(words());
  entry.addEventListener("input", () => entry.value.includes(",") && add());
  entry.addEventListener("blur", () => entry.value.trim() !== "" && add());
  entry.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && entry.value.trim() !== "") {
      // The next one sends the form.
      event.preventDefault();
      add();
    } else if (event.key === "Backspace" && entry.value === "" && words().length > 0) {
      event.preventDefault();
      set(words().slice(0, -1));
    }
  });
  box.addEventListener("click", ({ target }) => target === box && entry.focus());
}

function tagOf(word, remove) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "tag";
  button.setAttribute("aria-label", `Remove ${word}`);
  const name = document.createElement("bdi");
  name.textContent = word;
  button.append(name, "\u00a0×");
  button.addEventListener("click", remove);
  return button;
}
