// Which handlers a request gets from the router of the app.
import assert from "node:assert/strict";
import { Hono } from "hono";
import { SplitRouter } from "../../routes/split_router.ts";

Deno.test("the API and overlapping pages get their handlers in the order in which they were added", async () => {
  const app = new Hono({ router: new SplitRouter() });
  for (const [path, name] of [["/api/auth/*", "auth"], ["*", "all"]] as const) {
    app.use(path, async (c, next) => {
      await next();
      c.header("Passed", name, { append: true });
    });
  }
  for (
    const path of [
      "/api/auth/me",
      "/api/v1/usage/:id",
      "/portal/members/:id/role",
      "/portal/members/invite/:id",
    ]
  ) {
    app.get(path, (c) => c.text(`${path} ${JSON.stringify(c.req.param())}`));
  }
  const get = async (path: string) => {
    const response = await app.request(path);
    return [response.headers.get("Passed"), await response.text()];
  };

  assert.deepEqual(await get("/api/auth/me"), ["all, auth", "/api/auth/me {}"]);
  assert.deepEqual(await get("/api/v1/usage/7"), ["all", '/api/v1/usage/:id {"id":"7"}']);
  assert.deepEqual(await get("/portal/members/7/role"), ["all", '/portal/members/:id/role {"id":"7"}']);
  assert.deepEqual(await get("/portal/members/invite/8"), ["all", '/portal/members/invite/:id {"id":"8"}']);
  assert.deepEqual(await get("/api/nowhere"), ["all", "404 Not Found"]);
  assert.deepEqual(await get("/nowhere"), ["all", "404 Not Found"]);
});
