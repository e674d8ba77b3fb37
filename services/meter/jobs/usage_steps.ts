// Divides adding up usage into steps of some milliseconds, between which other jobs run.
import type { PositionedWindow } from "../../../db/meter/counting_values.ts";
import type { MeteredOrganization, PositionedPiece, UsageGroup } from "../../../db/meter/usage_sums.ts";
import { usageStepRollupsMax, usageStepRowsMax, usageStepSeriesMax } from "../../../domain/limits.ts";
import { rollupNumber, rollupPieces, rollupsOf, rollupStart } from "../../../domain/meter/rollup_unit.ts";

export interface UsageStep {
  readonly organizations: readonly number[];
  readonly pieces: readonly PositionedPiece[];
  /** True if all windows so far are complete, of these organizations if the sums tell organizations apart, else of all. */
  readonly isComplete: boolean;
}

/**
 * Returns the steps, by window. If there are many organizations, each window takes some of them at a time; without groups, all
 * windows do, which reads the rollups of a series once and has one row for each window in memory.
 */
export function* usageSteps(
  windows: readonly PositionedWindow[],
  { organizations, groupBy, isSplit = false }: {
    organizations: readonly MeteredOrganization[];
    groupBy: readonly UsageGroup[];
    /** True if sums are by properties. */
    isSplit?: boolean;
  },
): Generator<UsageStep> {
  const isByOrganization = groupBy.includes("organization");
  const isOneGroup = organizations.length <= 1 || seriesOf(organizations) <= usageStepSeriesMax;
  const isTotal = groupBy.length === 0 && !isSplit;
  for (const some of isOneGroup || isTotal ? [windows] : windows.map((window) => [window])) {
    const pieces = some.flatMap(({ position, ...window }) =>
      rollupPieces(window).map((piece) => ({ ...piece, position }))
    );
    const groups = isOneGroup ? [organizations] : groupsOf(organizations, pieces);
    for (const [index, group] of groups.entries()) {
      const series = Math.max(1, seriesOf(group));
      const rollupsMax = Math.max(1, Math.floor(usageStepRollupsMax / series));
      // Without groups a window is one row; with them it may be one for each series.
      const windowsMax = Math.max(1, Math.floor(usageStepRowsMax / (isTotal ? 1 : series)));
      const isLast = index === groups.length - 1;
      const steps = [...divide(pieces, { rollupsMax, windowsMax })];
      for (const [at, { isContinued, ...step }] of steps.entries()) {
        yield {
          ...step,
          organizations: group.map(({ number }) => number),
          isComplete: isTotal
            ? isLast && at === steps.length - 1
            : !isContinued && (isByOrganization || isLast),
        };
      }
    }
  }
}

function seriesOf(organizations: readonly MeteredOrganization[]): number {
  return organizations.reduce((sum, { series }) => sum + series, 0);
}

function groupsOf(
  organizations: readonly MeteredOrganization[],
  pieces: readonly PositionedPiece[],
): MeteredOrganization[][] {
  const rollups = pieces.reduce((sum, piece) => sum + rollupsOf(piece), 0);
  const seriesMax = Math.min(usageStepSeriesMax, usageStepRollupsMax / Math.max(1, rollups));
  const groups: MeteredOrganization[][] = [];
  let seriesOfLast = 0;
  for (const organization of organizations) {
    seriesOfLast += organization.series;
    const last = groups.at(-1);
    if (last !== undefined && seriesOfLast <= seriesMax) last.push(organization);
    else {
      groups.push([organization]);
      seriesOfLast = organization.series;
    }
  }
  return groups;
}

/** Divides windows into steps: many short windows, or a part of a long one, which the next step then continues. */
function* divide(
  pieces: readonly PositionedPiece[],
  { rollupsMax, windowsMax }: { rollupsMax: number; windowsMax: number },
): Generator<{ pieces: readonly PositionedPiece[]; isContinued: boolean }> {
  let step: PositionedPiece[] = [];
  let [rollups, windows, position] = [0, 0, -1];
  for (const piece of pieces.flatMap((piece) => cut(piece, rollupsMax))) {
    const isContinued = piece.position === position;
    const isFull = rollups + rollupsOf(piece) > rollupsMax || (!isContinued && windows >= windowsMax);
    if (isFull && step.length > 0) {
      yield { pieces: step, isContinued };
      [step, rollups, windows] = [[], 0, 0];
    }
    step.push(piece);
    rollups += rollupsOf(piece);
    if (!isContinued) windows++;
    ({ position } = piece);
  }
  if (step.length > 0) yield { pieces: step, isContinued: false };
}

function cut(piece: PositionedPiece, rollupsMax: number): PositionedPiece[] {
  const { unit } = piece;
  const [first, after] = [rollupNumber(unit, piece.start), rollupNumber(unit, piece.end)];
  return Array.from({ length: Math.ceil((after - first) / rollupsMax) }, (_, n) => ({
    ...piece,
    start: rollupStart(unit, first + n * rollupsMax),
    end: rollupStart(unit, Math.min(first + (n + 1) * rollupsMax, after)),
  }));
}
