// All that a product's page does for single sign-on. Where the address is known, it is one line:
//
//   import { me, onChange, signIn, signOut, switchOrganization } from "https://auth.example.com/gatehouse.js";

const { gatehouse } = document.documentElement.dataset;
const { me, onChange, signIn, signOut, switchOrganization } = await import(`${gatehouse}/gatehouse.js`);

const element = (id) => document.getElementById(id);

function show({ authenticated, user, organizationId, role, memberships }) {
  element("nobody").hidden = authenticated;
  element("somebody").hidden = !authenticated;
  element("who").textContent = authenticated ? `${user.name}, ${role ?? "in no organization"}` : "Nobody";
  const choices = memberships.map((one) =>
    new Option(one.name, one.organizationId, false, one.organizationId === organizationId)
  );
  element("organizations").replaceChildren(...choices);
}

async function attempt(act) {
  element("trouble").textContent = "";
  try {
    await act();
  } catch (error) {
    element("trouble").textContent = error.message;
  }
}

element("sign-in").addEventListener("click", () => signIn());
element("sign-out").addEventListener("click", () => attempt(signOut));
element("organizations").addEventListener("change", (event) => {
  attempt(() => switchOrganization(event.target.value));
});

onChange(show);
attempt(async () => show(await me()));
