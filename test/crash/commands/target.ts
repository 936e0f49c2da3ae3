/**
 * Commands, background processes and approvals under `kill -9` (L4, L13, M33). The workspace is the witness: each command writes
 * its token into a file, so a command that ran twice is seen, and one without a yes too.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { homePaths } from "../../../src/config/paths.ts";
import { makeDiskDirectory } from "../../kit/disk-directory.ts";
import { randomOf } from "../../kit/random.ts";
import type { CrashOptions, CrashReport, CrashTarget } from "../target.ts";
import { startVictim, type Victim } from "../victim.ts";

const CHILD = new URL("./child.ts", import.meta.url);
const KINDS = ["wait", "back", "asks"] as const;
const PER_LIFE = 6;

export interface CommandCrashOptions extends CrashOptions {
  /** A way to break a law that the audit must find. */
  readonly mutation?: "exec-again" | "unrecorded";
}

interface FromChild {
  readonly say: "up" | "running" | "ack" | "show" | "quiet";
  readonly id: string;
  readonly text: string;
  readonly used: number;
  readonly recorded: readonly string[];
}

export const commandsTarget: CrashTarget = { name: "commands", run: (options) => crashCommands(options) };

export async function crashCommands({ kills, seed, say, mutation }: CommandCrashOptions): Promise<CrashReport> {
  const home = makeDiskDirectory("rookery-crash-commands-");
  const world = new Outside();
  const random = randomOf(seed);
  const writeAll = (victim: Victim): void => {
    for (let n = 0; n < PER_LIFE; n++)
      world.write(victim, `p${n}`, mutation === "exec-again" ? 0 : random.int(0, KINDS.length - 1));
  };
  for (let life = 1; life <= kills; life++) {
    const victim = await world.start(home, mutation);
    writeAll(victim);
    // At least one command runs, or may have just ended.
    for (let n = random.int(1, 4); n > 0; n--) await Promise.race([world.running(), sleep(3_000)]);
    // With the mutation a command that waits has written its token, and is killed before it ends.
    while (mutation === "exec-again" && linesOf(home, "done.txt").length === 0) await sleep(20);
    await sleep(mutation ? 0 : random.int(0, 150));
    await victim.kill();
    if (life % 10 === 0) say(`${life} kills, ${world.answers.size} of ${world.messages.size} messages answered`);
  }
  const last = await world.start(home, mutation);
  // Without a kill it is the only life, and has work too.
  if (kills === 0) {
    writeAll(last);
    await world.running();
  }
  last.tell(JSON.stringify({ say: "end" }));
  await last.over();
  const problems = await audit(home, world);
  if (problems.length === 0) rmSync(home, { recursive: true, force: true });
  const lines = linesOf(home, "done.txt").length;
  return {
    problems,
    counts: {
      ...{ kills, messages: world.messages.size, commands: world.commands || lines, unknown: world.unknown() },
      approved: world.used,
    },
  };
}

/** The person who writes, and what was shown. */
class Outside {
  readonly messages = new Map<
    string,
    { readonly text: string; readonly token: string; readonly person: string; isAcked: boolean }
  >();
  readonly answers = new Map<string, string[]>();
  readonly #shown = new Set<string>();
  #onRunning = (): void => {};
  commands = 0;
  used = 0;
  /** The tokens whose commands have a row in the audit log. */
  recorded: ReadonlySet<string> = new Set();

  async start(home: string, mutation = ""): Promise<Victim> {
    const up = Promise.withResolvers<void>();
    const victim = startVictim(CHILD, [home, mutation], (line) => {
      const said = JSON.parse(line) as FromChild;
      if (said.say === "up") up.resolve();
      else this.#heard(said);
    });
    await Promise.race([up.promise, victim.said("never")]);
    // A message without an acknowledgement is sent again, with the same id.
    for (const [id, { text, person, isAcked }] of this.messages) {
      if (!isAcked) victim.tell(JSON.stringify({ say: "in", id, text, person }));
    }
    return victim;
  }

  write(victim: Victim, person: string, kind: number): void {
    const token = `t${this.messages.size}`;
    const [id, text] = [`m-${token}`, `${KINDS[kind]} ${token}`];
    this.messages.set(id, { text, token, person, isAcked: false });
    victim.tell(JSON.stringify({ say: "in", id, text, person }));
  }

  /** Resolves when the next command starts. */
  running(): Promise<void> {
    return new Promise((resolve) => {
      this.#onRunning = resolve;
    });
  }

  #heard({ say, id, text, used, recorded }: FromChild): void {
    const message = this.messages.get(id);
    if (say === "running") this.#onRunning();
    if (say === "ack" && message) message.isAcked = true;
    if (say === "quiet") {
      this.used = used;
      this.recorded = new Set(recorded);
    }
    // The channel recognises a delivery that it has shown before.
    if (say !== "show" || this.#shown.size === this.#shown.add(id).size) return;
    const token = /^(t\d+): /.exec(text)?.[1];
    if (token !== undefined) this.answers.set(token, [...(this.answers.get(token) ?? []), text]);
  }

  unknown(): number {
    return [...this.answers.values()].flat().filter((text) => text.includes("unknown")).length;
  }
}

const linesOf = (home: string, file: string): readonly string[] => {
  const path = join(homePaths(home).workspace, file);
  return existsSync(path) ? readFileSync(path, "utf8").split("\n").filter(Boolean) : [];
};

async function audit(home: string, world: Outside): Promise<readonly string[]> {
  const problems: string[] = [];
  const done = linesOf(home, "done.txt");
  world.commands = done.length;
  for (const { token } of world.messages.values()) {
    const times = done.filter((line) => line === token).length;
    const answers = world.answers.get(token) ?? [];
    if (times > 1) problems.push(`L4: the command of ${token} ran ${times} times`);
    if (answers.length !== 1) problems.push(`L1: ${token} has ${answers.length} answers`);
    const isOpen = answers.some((text) => /unknown|Not executed/.test(text));
    if (times === 0 && !isOpen)
      problems.push(`L4: the command of ${token} did not run, and its answer is: ${answers[0]}`);
  }
  const wanted = new Set([...world.messages.values()].map(({ token }) => token));
  for (const token of new Set(done)) {
    if (!wanted.has(token)) problems.push(`L13: a command that no message asked for wrote ${token}`);
    else if (!world.recorded.has(token))
      problems.push(`L13: the command of ${token} ran, and no row of the audit log says so`);
  }
  const asked = readdirSync(homePaths(home).workspace).filter((name) => name.startsWith("asked-")).length;
  if (asked > world.used) problems.push(`L13: ${asked} commands that need a yes ran, and ${world.used} were approved`);
  problems.push(...(await leftOver(home)));
  return problems;
}

/** Background commands end by themselves. A process that is still there after that was forgotten. */
async function leftOver(home: string): Promise<readonly string[]> {
  for (let tries = 0; ; tries++) {
    const pids = readdirSync("/proc").filter(
      (pid) => /^\d+$/.test(pid) && commandOf(pid).includes(`${home}/processes`),
    );
    if (pids.length === 0) return [];
    if (tries === 50) return pids.map((pid) => `M33: the process ${pid} still runs: ${commandOf(pid)}`);
    await sleep(100);
  }
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}
