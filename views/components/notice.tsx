// The result of the last action.
import { Icon } from "./icon.tsx";

/** One sentence, or nothing for no notice. `done`: it worked. `error`: it did not. */
export interface NoticeProps {
  readonly tone: "done" | "error";
  readonly text: string | null | undefined;
}

export function Notice({ tone, text }: NoticeProps) {
  if (!text) return null;
  return (
    <div class={`note ${tone}`} role={tone === "done" ? "status" : "alert"}>
      <Icon name={tone === "done" ? "check" : "alert"} />
      <p>{text}</p>
    </div>
  );
}
