// The one loud thing on its page: recovery codes that were just made, for the only time. They are copied by a button, or saved
// as a file by a link that needs no scripts.
import { CopyButton } from "../components/code.tsx";

/** The codes with the ways to keep them. Takes the focus, so that it is read out. */
export function RecoveryCodesNotice({ codes, email }: { codes: readonly string[]; email: string }) {
  const text = `Recovery codes of ${email}. Each signs in once.\n\n${codes.join("\n")}\n`;
  return (
    <section class="notice" aria-labelledby="codes-title" tabindex={-1} autofocus>
      <div>
        <h2 id="codes-title">Your recovery codes</h2>
        <p class="small">
          <strong>Keep them now. They will not be shown again.</strong>{" "}
          Each signs you in once, after your password, when the app is not there.
        </p>
      </div>
      <ul class="codes pick" id="recovery-codes">
        {codes.map((code) => (
          <li>
            <code>{`${code}\n`}</code>
          </li>
        ))}
      </ul>
      <div class="act-row">
        <CopyButton target="recovery-codes" tone="primary">Copy codes</CopyButton>
        <a
          class="button plain"
          href={`data:text/plain;charset=utf-8,${encodeURIComponent(text)}`}
          download="gatehouse-recovery-codes.txt"
          hx-boost="false"
        >
          Save as a file
        </a>
      </div>
    </section>
  );
}
