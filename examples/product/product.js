// Everything that a product's page needs for single sign-on. If the address is fixed, import the client in one line:
//
//   import { me, onChange, signIn, signOut, switchOrganization } from "https://auth.example.com/gatehouse.js";

const { gatehouse } = document.documentElement.dataset;
const { me, onChange, signIn, signOut, switchOrganization } = await import(`${gatehouse}/gatehouse.js`);

const element = (id) => document.getElementById(id);

function show({ authenticated, user, organizationId, role, memberships }) {
  element("signed-out").hidden = authenticated;
  element("signed-in").hidden = !authenticated;
  element("who").textContent = authenticated ? `${user.name}, ${role ?? "no organization"}` : "Not signed in";
  const choices = memberships.map((one) =>
    new Option(one.name, one.organizationId, false, one.organizationId === organizationId)
  );
  element("organizations").replaceChildren(...choices);
}

async function attempt(action) {
  element("error").textContent = "";
  try {
    await action();
  } catch (error) {
    element("error").textContent = error.message;
  }
}

element("sign-in").addEventListener("click", () => signIn());
element("sign-out").addEventListener("click", () => attempt(signOut));
element("organizations").addEventListener("change", (event) => {
  attempt(() => switchOrganization(event.target.value));
});

onChange(show);
attempt(async () => show(await me()));
