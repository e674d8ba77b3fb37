// A server that lists public keys as GitHub does, and signatures with them.
import { createSign, generateKeyPairSync, type KeyObject } from "node:crypto";

/** The example of GitHub's documentation of its secret scanning partner program. */
export const documented = {
  body:
    '[{"source":"commit","token":"some_token","type":"some_type","url":"https://example.com/base-repo-url/"}]',
  identifier: "bcb53661c06b4728e59d897fb6165d5c9cda0fd9cdf9d09ead458168deb7518c",
  signature:
    "MEQCIQDaMKqrGnE27S0kgMrEK0eYBmyG0LeZismAEz/BgZyt7AIfXt9fErtRS4XaeSt/AO1RtBY66YcAdjxji410VQV4xg==",
  publicKey: "-----BEGIN PUBLIC KEY-----\n" +
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEYAGMWO8XgCamYKMJS6jc/qgvSlAd\n" +
    "AjPuDPRcXU22YxgBrz+zoN19MzuRyW87qEt9/AmtoNP5GrobzUvQSyJFVw==\n" +
    "-----END PUBLIC KEY-----\n",
};

/** The example of an older version of that documentation, which gives the public key of its test key. */
export const documentedBefore = {
  body: '[{"token":"some_token","type":"some_type","url":"some_url","source":"some_source"}]',
  identifier: "f9525bf080f75b3506ca1ead061add62b8633a346606dc5fe544e29231c6ee0d",
  signature:
    "MEUCIFLZzeK++IhS+y276SRk2Pe5LfDrfvTXu6iwKKcFGCrvAiEAhHN2kDOhy2I6eGkOFmxNkOJ+L2y8oQ9A2T9GGJo6WJY=",
  publicKey: "-----BEGIN PUBLIC KEY-----\n" +
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEsz9ugWDj5jK5ELBK42ynytbo38gP\n" +
    "HzZFI03Exwz8Lh/tCfL3YxwMdLjB+bMznsanlhK0RwcGP3IDb34kQDIo3Q==\n" +
    "-----END PUBLIC KEY-----\n",
};

/** A key that signs like one of GitHub's. */
export interface SigningKey {
  readonly identifier: string;
  readonly publicKey: string;
  sign(body: string): string;
}

export function newSigningKey(identifier: string, namedCurve = "P-256"): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve });
  return {
    identifier,
    publicKey: `${publicKey.export({ type: "spki", format: "pem" })}`,
    sign: (body) => signWith(privateKey, body),
  };
}

function signWith(key: KeyObject, body: string): string {
  return createSign("sha256").update(body).sign(key, "base64");
}

/** The content of a list. A `status` other than 200 is a failure. */
export interface KeyList {
  keys: readonly Pick<SigningKey, "identifier" | "publicKey">[];
  status: number;
  requests: number;
}

/** Runs a function with a server on this machine. */
export async function withGithubKeys(
  run: (list: KeyList, url: string) => Promise<void>,
): Promise<void> {
  const list: KeyList = { keys: [], status: 200, requests: 0 };
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => {
    list.requests++;
    const public_keys = list.keys.map(({ identifier, publicKey }, index) => ({
      key_identifier: identifier,
      key: publicKey,
      is_current: index === 0,
    }));
    return Response.json({ public_keys }, { status: list.status });
  });
  try {
    await run(list, `http://127.0.0.1:${server.addr.port}/meta/public_keys/secret_scanning`);
  } finally {
    await server.shutdown();
  }
}
