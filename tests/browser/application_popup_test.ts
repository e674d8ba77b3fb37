// An application in a browser that opens the sign-in in a window of its own, and gets the code back from there.
import assert from "node:assert/strict";
import { testPassword } from "../support/app/app.ts";
import { browserTest } from "../support/browser/app.ts";
import { freePort } from "../support/database/sqld.ts";
import { addClient, authorizeAddress, exchange } from "../support/oauth/scene.ts";
import { verifiedPerson } from "../support/people/people.ts";

const start = (authorize: string) =>
  `<!doctype html><title>Client</title><button>Sign in</button><p id="answer"></p><script>
    addEventListener("message", ({ origin, data }) => {
      if (origin === location.origin) document.querySelector("#answer").textContent = data;
    });
    document.querySelector("button").onclick = () => open(${JSON.stringify(authorize)}, "sign-in", "popup");
  </script>`;
const callback = `<!doctype html><title>Callback</title><script>
  opener.postMessage(location.search, location.origin);
  close();
</script>`;

browserTest("gives the code to the page that opened the window", async ({ test, open, origin }) => {
  const port = freePort();
  const redirect_uri = `http://127.0.0.1:${port}/callback`;
  const app = await addClient(test, { redirectUris: [redirect_uri] });
  const person = await verifiedPerson(test);
  const client = Deno.serve({ port, hostname: "127.0.0.1", onListen() {} }, (request) => {
    const body = new URL(request.url).pathname === "/callback"
      ? callback
      : start(origin + authorizeAddress(app, { redirect_uri }));
    return new Response(body, { headers: { "content-type": "text/html" } });
  });
  try {
    const page = await open();
    await page.goto(`http://127.0.0.1:${port}/`);
    const opened = page.waitForEvent("popup");
    await page.getByRole("button").click();
    const popup = await opened;
    await popup.locator("#email").fill(person.email);
    await popup.getByLabel("Password").fill(testPassword);
    await popup.getByRole("button", { name: "Sign in", exact: true }).click();
    const allow = popup.getByRole("button", { name: "Allow" });
    await allow.waitFor();
    // Before the pointer moves, a click could belong to another page.
    await popup.mouse.move(5, 5);
    await allow.click();
    const answer = page.locator("#answer", { hasText: "code=" });
    await answer.waitFor();
    const parameters = new URLSearchParams(await answer.innerText());
    assert.equal(parameters.get("state"), "s1");
    const { status, body } = await exchange(test, app, parameters.get("code") ?? "", { redirect_uri });
    assert.equal(status, 200, JSON.stringify(body));
    // Pages that no application opens stay apart from their opener.
    for (const [path, policy] of [["/sign-in", "unsafe-none"], ["/docs", "same-origin"]] as const) {
      const { headers } = await test.send(path);
      assert.equal(headers.get("cross-origin-opener-policy"), policy, path);
    }
  } finally {
    await client.shutdown();
  }
});
