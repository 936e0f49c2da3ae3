/**
 * Counts how often a run was interrupted without a new step (M13). Only a crash counts. A node that fell silent may have died
 * or may be unreachable: it is suspected, and cleared if it renews its lease or joins again. Before a run is failed on
 * suspicion, its silent nodes are watched for `silenceMs`. A node that comes back does not count, a node known to be dead counts
 * at once, and a node that stays silent counts after the watch, so that a run which hangs every node ends too. The watch uses
 * the monotonic clock, because a jump of the wall clock may have ended all leases at once.
 */
import type { RunId } from "../../../core/ids.ts";
import type { RunBody, RunRecord } from "../../../core/run/run.ts";
import type { NodeRecord } from "../../../core/store/store.ts";
import type { RunPorts } from "../../runtime/run-ports.ts";

export type SuspectedNode = NonNullable<RunBody["blamed"]>[number];

export interface Count {
  readonly attempt: number;
  readonly suspectedNodes: readonly SuspectedNode[];
}

/** Not known yet; try again after `waitMs`. */
export interface Undecided {
  readonly waitMs: number;
}

interface Watch {
  readonly runId: RunId;
  /** The node that worked on the run last. */
  readonly of: number | undefined;
  readonly since: number;
  /** As it was when the watch began: a lease renewed since then is a sign of life. */
  readonly silent: SuspectedNode | undefined;
}

/** How often silent nodes are checked during the watch. */
const LOOKS = 16;

export class Attempts {
  readonly #ports: Pick<RunPorts, "store" | "clock" | "settings">;
  #watch: Watch | undefined;

  constructor(ports: Pick<RunPorts, "store" | "clock" | "settings">) {
    this.#ports = ports;
  }

  /** One more attempt, less those whose node is alive after all. `self`: the node that resumes the run. */
  async count(record: RunRecord, self: number): Promise<Count | Undecided> {
    const { store, clock, settings } = this.#ports;
    const { id, attempt, body, abort } = record;
    const before = body.blamed ?? [];
    if (before.length === 0 && body.node === self) return { attempt: attempt + 1, suspectedNodes: [] };
    const nodes = new Map((await store.nodes()).map((one) => [one.node, one]));
    const watch = this.#watch?.runId === id && this.#watch.of === body.node ? this.#watch : undefined;
    const silent =
      body.node === undefined || body.node === self
        ? undefined
        : (watch?.silent ?? { node: body.node, leaseUntil: nodes.get(body.node)?.leaseUntil ?? 0 });
    const all = silent ? [...before, silent] : before;
    const suspectedNodes = all.filter((suspect) => !livedOn(suspect, nodes.get(suspect.node)));
    const counted = { attempt: attempt + 1 - (all.length - suspectedNodes.length), suspectedNodes };
    const suspected = suspectedNodes.some(({ node }) => nodes.get(node)?.left === false);
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

/** Whether a suspected node has shown that its process did not die. */
const livedOn = ({ leaseUntil }: SuspectedNode, now: NodeRecord | undefined): boolean =>
  now !== undefined && (now.returned || (now.leaseUntil !== leaseUntil && !now.left));
