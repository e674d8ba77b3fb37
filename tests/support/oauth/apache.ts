// A real Apache in front of an application that records its requests.
import { type EchoApplication, startEchoApplication, started } from "../network/proxies.ts";

export interface Apache {
  readonly application: EchoApplication;
}

const modules = [
  "mpm_event",
  "authn_core",
  "authz_core",
  "authz_user",
  "auth_openidc",
  "proxy",
  "proxy_http",
  "headers",
];

/** Runs Apache on a port while `act` runs. @param lines Settings of the module and the locations that it protects. */
export async function withApache(
  port: number,
  lines: readonly string[],
  act: (apache: Apache) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-apache-" });
  const application = startEchoApplication();
  try {
    const loaded = modules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`);
    const text = [
      ...loaded,
      `Listen 127.0.0.1:${port}`,
      "ServerName 127.0.0.1",
      `DefaultRuntimeDir ${folder}`,
      `PidFile ${folder}/pid`,
      "ErrorLog /dev/stderr",
      ...lines,
      `ProxyPass / http://127.0.0.1:${application.port}/`,
    ];
    await Deno.writeTextFile(`${folder}/apache.conf`, `${text.join("\n")}\n`);
    const args = ["-D", "FOREGROUND", "-d", folder, "-f", `${folder}/apache.conf`];
    const apache = await started(port, "apache2", args, { PATH: `${Deno.env.get("PATH")}:/usr/sbin` });
    try {
      await act({ application });
    } finally {
      await apache.stop();
    }
  } finally {
    await application.stop();
    await Deno.remove(folder, { recursive: true });
  }
}
