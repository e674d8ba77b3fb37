// The name of an organization's plan, next to its limits.
import type { PortalFrame } from "../layout.tsx";

/** A link to the organization's billing page: `Growth plan`. In a product's app, there is no such page. */
export function PlanLink({ name, frame }: { name: string; frame: PortalFrame }) {
  if (frame.embed !== null) {
    return (
      <span class="small">
        <PlanName name={name} />
      </span>
    );
  }
  return (
    <a class="small" href={`${frame.base}/billing`}>
      <PlanName name={name} />
    </a>
  );
}

export function PlanName({ name }: { name: string }) {
  return (
    <>
      <bdi>{name}</bdi>
      {/\bplan$/i.test(name) ? "" : " plan"}
    </>
  );
}
