// Authlib signs someone in, refreshes, and goes on while the signing keys rotate.
import assert from "node:assert/strict";
import { withOwnAddress } from "../../support/app/real_app.ts";
import { newVisitor } from "../../support/identity_providers/visitor.ts";
import { withAuthlib } from "../../support/oauth/authlib.ts";
import { passPages } from "../../support/oauth/pages.ts";
import { addClient, confirmed, redirectUri, rotateSigningKeys } from "../../support/oauth/scene.ts";
import { isMissing } from "../../support/runner/needs.ts";

Deno.test({
  name: "Authlib signs someone in by discovery, refreshes, and accepts old and new keys after a rotation",
  ignore: isMissing("python3-authlib"),
  fn: () =>
    withOwnAddress(async (test) => {
      const issuer = test.config.baseUrl.origin;
      const person = await confirmed(test, await test.signUp());
      const client = await addClient(test);
      await withAuthlib({ issuer, ...client, redirect_uri: redirectUri }, async (authlib) => {
        const url = await authlib.run("start");
        const { answer } = await passPages(newVisitor(test), url, { test, email: person.email });
        const first = await authlib.run("finish", answer?.href);
        assert.equal(first.claims.sub, person.userId);
        assert.equal(first.userinfo.email, person.email);

        await rotateSigningKeys(test);
        const second = await authlib.run("refresh");
        assert.notEqual(second.kid, first.kid);
        assert.deepEqual([second.claims.sub, second.status], [person.userId, 200]);
        assert.equal((await authlib.run("validate", first.idToken)).kid, first.kid);
        assert.equal(await authlib.run("revoke"), 401);
      });
    }),
});
