// `gatehouse keys rotate`: replaces the keys that sign ID tokens, alongside a running server.
import { isoTime } from "../domain/time.ts";
import { rotateSigningKeys } from "../services/oauth/mod.ts";
import { type Subcommand, verbCommand } from "./administration.ts";
import { keysHelp } from "./help.ts";
import { exitStatus } from "./settings.ts";
import { writeLine } from "./terminal.ts";
import { minute } from "./text_table.ts";

export const keysCommand = verbCommand("gatehouse keys", {
  verbs: { rotate: { options: { now: "flag" }, act: rotate } },
  help: keysHelp,
  unknown: { message: "not found.", status: exitStatus.data },
});

async function rotate({ services, actor, flags }: Subcommand): Promise<void> {
  const isStolen = flags.has("now");
  const signsFrom = await rotateSigningKeys(services, actor, { isStolen });
  writeLine(
    isStolen
      ? "New keys sign, and the old ones are no longer published. Servers notice within a minute, and applications " +
        "when they next read /oauth/jwks, which they may cache for an hour. ID tokens and JWT access tokens that the " +
        "old keys signed are then rejected. Sessions, opaque tokens and refresh tokens keep working."
      : `New keys are published, and sign from ${
        minute(isoTime(signsFrom))
      }. Tokens of the old ones stay valid.`,
  );
}
