// The name of an organization's plan, next to its limits.

/** A link to the organization's billing page: `Growth plan`. @param props `base`: of the organization's pages. */
export function PlanLink({ name, base }: { name: string; base: string }) {
  return (
    <a class="small" href={`${base}/billing`}>
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
