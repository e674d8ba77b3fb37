// The one loud thing on the page: a key that was just made, in full, for the only time.
import { CodeBlock, exampleCurl, Secret } from "../components/code.tsx";
import { RelativeTime } from "../components/relative_time.tsx";

/** A key that was just made: the only time that it is shown in full. */
export interface NewKey {
  readonly name: string;
  readonly fullKey: string;
  /** The key that it replaces; `endsAt` (ISO 8601) is when that one stops, null when it has stopped already. */
  readonly replaced: { readonly name: string; readonly endsAt: string | null } | null;
}

/** The new key with a way to copy it, and a command that uses it. Takes the focus, so that it is read out. */
export function NewKeyNotice({ newKey, usageUrl, now }: { newKey: NewKey; usageUrl: string; now: number }) {
  return (
    <section class="notice" aria-labelledby="new-key-title" tabindex={-1} autofocus>
      <div>
        <h2 id="new-key-title">
          “<bdi>{newKey.name}</bdi>” is ready
        </h2>
        <p class="small">
          <strong>Copy the key now. It will not be shown again.</strong>
          <ReplacedWords replaced={newKey.replaced} now={now} />
        </p>
      </div>
      <Secret id="new-key" value={newKey.fullKey} />
      <CodeBlock
        id="new-key-curl"
        label="Record usage"
        code={exampleCurl(usageUrl, newKey.fullKey)}
      />
    </section>
  );
}

function ReplacedWords({ replaced, now }: { replaced: NewKey["replaced"]; now: number }) {
  if (replaced === null) return null;
  if (replaced.endsAt === null) return <>{" The old key has stopped: programs that use it are refused."}</>;
  return (
    <>
      {" The old key stops "}
      <RelativeTime at={replaced.endsAt} now={now} />
      {"."}
    </>
  );
}
