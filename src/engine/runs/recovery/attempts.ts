/**
 * Counts how often a run was cut off without a new step (M13). Only a crash counts. A node that fell silent may have died or
 * may only be away: it is blamed, and the blame is taken off where it has renewed its lease or joined again since. A run is not
 * failed on such a suspicion: whoever would fail it watches the silent first, for as long as `silenceMs`. Who comes back
 * meanwhile was away; who is known to be dead counts at once; who stays silent counts then, so that a run which hangs each node
 * ends too. Time is measured here by the clock that never jumps: what ended all leases at once may have been a wall clock.
 */
import type { RunId } from "../../../core/ids.ts";
import type { RunBody, RunRecord } from "../../../core/run/run.ts";
import type { NodeRecord } from "../../../core/store/store.ts";
import type { RunPorts } from "../../runtime/run-ports.ts";

export type Blame = NonNullable<RunBody["blamed"]>[number];

export interface Count {
  readonly attempt: number;
  readonly blamed: readonly Blame[];
}

/** Nobody can say yet; to be asked again after `waitMs`. */
export interface Undecided {
  readonly waitMs: number;
}

interface Watch {
  readonly runId: RunId;
  /** The node the run was last on. */
  readonly of: number | undefined;
  readonly since: number;
  /** As it was when the watch began: a lease that is renewed since is a sign of life. */
  readonly silent: Blame | undefined;
}

/** How often the silent are looked at while they are watched. */
const LOOKS = 16;

export class Attempts {
  readonly #ports: Pick<RunPorts, "store" | "clock" | "settings">;
  #watch: Watch | undefined;

  constructor(ports: Pick<RunPorts, "store" | "clock" | "settings">) {
    this.#ports = ports;
  }

  /** One attempt more, less those whose node has proved alive since. `self` is the node that is to go on with the run. */
  async count(record: RunRecord, self: number): Promise<Count | Undecided> {
    const { store, clock, settings } = this.#ports;
    const { id, attempt, body, abort } = record;
    const before = body.blamed ?? [];
    if (before.length === 0 && body.node === self) return { attempt: attempt + 1, blamed: [] };
    const nodes = new Map((await store.nodes()).map((one) => [one.node, one]));
    const watch = this.#watch?.runId === id && this.#watch.of === body.node ? this.#watch : undefined;
    const silent =
      body.node === undefined || body.node === self
        ? undefined
        : (watch?.silent ?? { node: body.node, leaseUntil: nodes.get(body.node)?.leaseUntil ?? 0 });
    const all = silent ? [...before, silent] : before;
    const blamed = all.filter((blame) => !livedOn(blame, nodes.get(blame.node)));
    const counted = { attempt: attempt + 1 - (all.length - blamed.length), blamed };
    const suspected = blamed.some(({ node }) => nodes.get(node)?.left === false);
    const since = watch?.since ?? clock.monotonic();
    const left = since + settings.silenceMs - clock.monotonic();
    if (counted.attempt <= settings.maxAttempts || !suspected || abort || left <= 0) {
      this.#watch = undefined;
      return counted;
    }
    this.#watch = { runId: id, of: body.node, since, silent };
    return { waitMs: Math.min(left, settings.silenceMs / LOOKS) };
  }
}

/** Whether a node that was blamed has shown that its process had not died. */
const livedOn = ({ leaseUntil }: Blame, now: NodeRecord | undefined): boolean =>
  now !== undefined && (now.returned || (now.leaseUntil !== leaseUntil && !now.left));
