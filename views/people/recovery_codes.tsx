// New recovery codes of two-step sign-in.
import { CopyButton } from "../components/code.tsx";

/** New recovery codes, to copy, or to save as a file without scripts. Takes the focus, so that it is read out. */
export function RecoveryCodesNotice({ codes, email }: { codes: readonly string[]; email: string }) {
  const text = `Recovery codes of ${email}. Each works once.\n\n${codes.join("\n")}\n`;
  return (
    <section class="notice" aria-labelledby="codes-title" tabindex={-1} autofocus>
      <div>
        <h2 id="codes-title">Your recovery codes</h2>
        <p class="small">
          <strong>Save them now. They are shown only once.</strong>{" "}
          Use one instead of a code when you don't have your phone.
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
