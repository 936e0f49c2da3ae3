/**
 * One life of a node. All calls of the program and all call-backs of the world pass here, so that a dead process sends and
 * receives nothing, a paused one receives everything late, and a process can die before or after each call.
 */
import type { Clock } from "../../../src/core/ports/clock.ts";
import type { EventLog } from "./event-log.ts";
import type { Scheduler } from "./scheduler.ts";

export type CallKind = "commit" | "read" | "model" | "exec" | "send" | "lookup" | "acknowledge" | "file";
export type Moment = "before" | "after";

/** A place at which a process can die: a kind of call, its site (a commit's name, a tool, a channel) and the moment. */
export interface CrashPoint {
  readonly kind: CallKind;
  readonly site: string;
  readonly moment: Moment;
}

export type Outcome<T> = { readonly value: T } | { readonly error: Error };

export interface SimProcess {
  /** `a.3` is the third life of node `a`. */
  readonly name: string;
  readonly node: string;
  readonly state: "up" | "paused" | "dead";
  readonly clock: Clock;
  /** The only way into the program. Dropped when dead, held back while paused. */
  enter(run: () => void): void;
  /** The only way out. `outside` acts on the world and answers once, in a separate event. Never settles when dead. */
  call<T>(kind: CallKind, site: string, outside: (answer: (outcome: Outcome<T>) => void) => void): Promise<T>;
  kill(why: string): void;
  pause(why: string): void;
  resume(): void;
}

export interface ProcessDeps {
  readonly scheduler: Scheduler;
  readonly log: EventLog;
  /** Wall time as this node sees it. */
  wall(node: string): number;
  /** What happens to a process at this point. Called once at every point. */
  fateAt(point: CrashPoint): "die" | "pause" | "go";
  onPause(process: SimProcess): void;
  onDeath(process: SimProcess, why: string): void;
}

export function startProcess(world: ProcessDeps, node: string, life: number): SimProcess {
  const { scheduler, log } = world;
  let state: SimProcess["state"] = "up";
  let held: (() => void)[] = [];

  const process: SimProcess = {
    name: `${node}.${life}`,
    node,
    get state() {
      return state;
    },
    clock: {
      now: () => world.wall(node),
      monotonic: () => scheduler.time,
      after(ms, callback) {
        let live = true;
        const cancel = scheduler.after(ms, () => process.enter(() => live && callback()));
        return () => {
          live = false;
          cancel();
        };
      },
    },
    enter(run) {
      if (state === "dead") return;
      if (state === "paused") held.push(run);
      else run();
    },
    call<T>(kind: CallKind, site: string, outside: (answer: (outcome: Outcome<T>) => void) => void): Promise<T> {
      return new Promise((resolve, reject) => {
        if (state !== "up") return;
        if (world.fateAt({ kind, site, moment: "before" }) === "die") return process.kill(`before ${kind} ${site}`);
        const settle = (outcome: Outcome<T>): void => {
          if ("error" in outcome) reject(outcome.error);
          else resolve(outcome.value);
        };
        outside((outcome) =>
          process.enter(() => {
            const fate = world.fateAt({ kind, site, moment: "after" });
            if (fate === "die") return process.kill(`after ${kind} ${site}`);
            if (fate === "go") return settle(outcome);
            process.pause(`after ${kind} ${site}`);
            process.enter(() => settle(outcome));
          }),
        );
      });
    },
    kill(why) {
      if (state === "dead") return;
      state = "dead";
      held = [];
      log.write(process.name, `dies ${why}`);
      world.onDeath(process, why);
    },
    pause(why) {
      if (state !== "up") return;
      state = "paused";
      log.write(process.name, `is paused ${why}`);
      world.onPause(process);
    },
    resume() {
      if (state !== "paused") return;
      state = "up";
      log.write(process.name, "goes on");
      const late = held;
      held = [];
      // Each held call-back is a separate event, as if the kernel delivered them one by one.
      for (const run of late) scheduler.after(0, () => process.enter(run));
    },
  };
  return process;
}
