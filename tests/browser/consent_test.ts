// The consent page in a real browser: a click that belongs to another page doesn't reach its buttons, and people get on with the
// mouse and the keyboard, with scripts and without.
import assert from "node:assert/strict";
import { browserTests } from "../support/browser/app.ts";
import { addClient, authorizeAddress, confirmed } from "../support/oauth/scene.ts";

browserTests("a double click that begins on another page allows nothing", async ({ test, origin, open }) => {
  const person = await confirmed(test, await test.signUp());
  const redirectUri = `${origin}/nowhere`;
  const client = await addClient(test, { isPublic: true, redirectUris: [redirectUri] });
  const address = authorizeAddress(client, { redirect_uri: redirectUri });
  const page = await open("/portal/account", { cookie: person.cookie });
  await page.mouse.move(-10, -10);
  await page.goto(origin + address);
  const allow = page.getByRole("button", { name: "Allow" });
  const box = await allow.boundingBox() ?? assert.fail("there is no button");
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const under = () => page.evaluate(`document.elementFromPoint(${x}, ${y})?.tagName`);
  assert.equal(await under(), "FORM", "before the pointer is on the page");
  await page.mouse.move(x, y);
  // Waits until the button is on top.
  await allow.click();
  await page.waitForURL(/\/nowhere\?code=/);

  await page.goto(origin + address);
  await allow.focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/nowhere\?code=/);
});
