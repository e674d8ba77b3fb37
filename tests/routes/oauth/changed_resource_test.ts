// What ends when operators change a resource.
import assert from "node:assert/strict";
import { changeResource } from "../../../services/oauth/mod.ts";
import { testApp } from "../../support/app/app.ts";
import { basic, issue, newClient, newMember, newResource, post } from "../../support/oauth/issued.ts";
import { commandLineActor } from "../../support/operators/operators.ts";

testApp(
  "a resource's removed scope and an application that it excludes end their access, and no other",
  async (test) => {
    const person = await newMember(test);
    const [one, other] = [await newClient(test), await newClient(test)];
    const { resource, secret } = await newResource(test);
    const tokenOf = async (client: typeof one, scope: string) =>
      (await issue(test, { person, client, scope, resource: resource.uri })).access_token;
    const [called, listed, others] = [
      await tokenOf(one, "tools:call"),
      await tokenOf(one, "tools:list"),
      await tokenOf(other, "tools:list"),
    ];
    const works = async (token: string) =>
      (await post(test, "/oauth/introspect", { token }, basic({ id: resource.id, secret }))).body.active;
    const change = (changes: Parameters<typeof changeResource>[2]["changes"]) =>
      changeResource(test.services, commandLineActor, { id: resource.id, changes });
    await change({ name: "Toolbox" });
    assert.deepEqual([await works(called), await works(listed), await works(others)], [true, true, true]);
    await change({ scopes: ["tools:list", "tools:run"] });
    assert.deepEqual([await works(called), await works(listed), await works(others)], [false, true, true]);
    await change({ clients: [one.id] });
    assert.deepEqual([await works(listed), await works(others)], [true, false]);
  },
  { SECRETS_KEY: btoa("7".repeat(32)) },
);
