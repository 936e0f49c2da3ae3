/**
 * The compared workloads: turns through the command line and over HTTP, which are the same at every commit. Each workload
 * makes N turns to warm up, then 2N that are measured, so that the cost of starting cancels out.
 */
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { Sample } from "./sample-hook.ts";
import type { StatementCounts } from "./statement-counter.ts";
import { type Subject, startSubject, TOKEN } from "./subject.ts";

export interface TurnCounts extends StatementCounts {
  /** Calls of `node:fs` on the main thread. */
  readonly fileCalls: number;
  /** Pages written to the log of the database. */
  readonly pages: number;
}

export interface Measured {
  readonly cpuMsPerTurn: number;
  /** Per turn. Only with the option `count`. */
  readonly counts?: TurnCounts;
}

export interface WorkloadOptions {
  /** Turns before the measurement; twice as many are measured. */
  readonly turns: number;
  /** Counts statements. Turns then come one after the other, so that the counts do not depend on what overlaps. */
  readonly count: boolean;
  /** Continues to count until this returns true, for at most `MAX_BLOCKS` blocks. */
  readonly isEnough?: (counts: TurnCounts) => boolean;
}

/** Timers and threads add to the counts of a turn, never take away: the lowest of a few blocks is the turn itself. */
const BLOCKS = 4;
const MAX_BLOCKS = 40;

export interface Workload {
  readonly about: string;
  measure(root: string, options: WorkloadOptions): Promise<Measured>;
}

const PEOPLE = 10;

/** Older commits call it `run`. */
const pipeCommand = (root: string): string => (existsSync(join(root, "src/app/cli/commands/run.ts")) ? "run" : "send");

export const WORKLOADS: Readonly<Record<string, Workload>> = {
  engine: {
    about: "one conversation through `send --lines`; every fourth line makes the agent use a tool",
    async measure(root, options) {
      const subject = startSubject(root, [pipeCommand(root), "--lines"], options);
      const answers = createInterface({ input: subject.child.stdout })[Symbol.asyncIterator]();
      let line = 0;
      // The next line follows the answer: an agent's queue has a cap, and drops what exceeds it.
      const say = async (many: number): Promise<void> => {
        for (let done = 0; done < many; done++) {
          const text = ++line % 4 === 0 ? "what time is it" : `line ${line}`;
          subject.child.stdin.write(`${text}\n`);
          if ((await answers.next()).done) throw new Error(`no answer to "${text}"`);
        }
      };
      return measureTurns(subject, options, say);
    },
  },
  front: {
    about: `${PEOPLE} conversations over /v1/chat/completions, offline model`,
    measure: (root, options) =>
      overHttp(root, options, async ({ call }, person, turn) => {
        await call("POST", "/v1/chat/completions", {
          model: "main",
          user: person,
          messages: [{ role: "user", content: `turn ${turn} of ${person}` }],
        });
      }),
  },
  store: {
    about: `${PEOPLE} agents; each turn posts a message, then reads the agent, its messages and its history`,
    measure: (root, options) =>
      overHttp(root, options, async ({ call }, person, turn) => {
        const agent = `/api/agents/${encodeURIComponent(`agent:main:api:dm:${person}`)}`;
        const text = `turn ${turn} of ${person}`;
        // The first message of a person makes the agent.
        if (turn === 0) {
          const messages = [{ role: "user", content: text }];
          await call("POST", "/v1/chat/completions", { model: "main", user: person, messages });
        } else {
          await call("POST", `${agent}/messages`, { text, queue: { mode: "queue" }, waitSeconds: 60 });
        }
        for (const page of ["", "/messages?limit=50", "/history?limit=50"]) await call("GET", `${agent}${page}`);
      }),
  },
};

async function measureTurns(
  subject: Subject,
  { turns, count, isEnough = () => true }: WorkloadOptions,
  say: (many: number) => Promise<void>,
): Promise<Measured> {
  try {
    await say(turns);
    const first = await subject.sample();
    const turnsOfBlock = count ? Math.ceil(turns / 2) : 2 * turns;
    let least: TurnCounts | undefined;
    let from = { sample: first, log: readLog(subject.home) };
    let done = 0;
    const isDone = (): boolean => !count || done === MAX_BLOCKS || (done >= BLOCKS && (!least || isEnough(least)));
    do {
      await say(turnsOfBlock);
      const to = { sample: await subject.sample(), log: readLog(subject.home) };
      const counts = countsBetween(from, to, turnsOfBlock);
      least = least && counts ? lower(least, counts) : counts;
      from = to;
      done += 1;
    } while (!isDone());
    return { cpuMsPerTurn: (from.sample.cpuMs - first.cpuMs) / (done * turnsOfBlock), counts: least };
  } finally {
    await subject.stop();
  }
}

interface Moment {
  readonly sample: Sample;
  readonly log: ReturnType<typeof readLog>;
}

function countsBetween(from: Moment, to: Moment, turns: number): TurnCounts | undefined {
  const [before, after] = [from.sample.counts, to.sample.counts];
  if (!before || !after) return undefined;
  const perTurn = (name: keyof typeof before): number => (after[name] - before[name]) / turns;
  return {
    statements: perTurn("statements"),
    rows: perTurn("rows"),
    commits: perTurn("commits"),
    readerStatements: perTurn("readerStatements"),
    fileCalls: perTurn("fileCalls"),
    // If the log was restarted, nothing is known about these turns.
    pages: to.log.salt === from.log.salt ? (to.log.frames - from.log.frames) / turns : Number.POSITIVE_INFINITY,
  };
}

const lower = (one: TurnCounts, other: TurnCounts): TurnCounts => ({
  statements: Math.min(one.statements, other.statements),
  rows: Math.min(one.rows, other.rows),
  commits: Math.min(one.commits, other.commits),
  readerStatements: Math.min(one.readerStatements, other.readerStatements),
  fileCalls: Math.min(one.fileCalls, other.fileCalls),
  pages: Math.min(one.pages, other.pages),
});

/** The write-ahead log of a home: its salt changes when SQLite restarts it, and each frame with this salt is a page written. */
function readLog(home: string): { readonly salt: string; readonly frames: number } {
  const log = readFileSync(join(home, "rookery.db-wal"));
  const [header, frame] = [32, 24];
  const salt = log.toString("hex", 16, 24);
  const size = frame + log.readUInt32BE(8);
  let frames = 0;
  while (log.toString("hex", header + frames * size + 8, header + frames * size + 16) === salt) frames += 1;
  return { salt, frames };
}

interface Server {
  call(method: string, path: string, body?: object): Promise<void>;
}

async function overHttp(
  root: string,
  options: WorkloadOptions,
  turnOf: (server: Server, person: string, turn: number) => Promise<void>,
): Promise<Measured> {
  const port = await freePort();
  const subject = startSubject(root, ["serve", "--port", String(port)], options);
  const agent = new Agent({ keepAlive: true, maxSockets: PEOPLE });
  const server: Server = {
    async call(method, path, body) {
      const { status, text } = await exchange(agent, port, method, path, body);
      if (status !== 200) throw new Error(`${method} ${path}: ${status} ${text.slice(0, 500)}`);
    },
  };
  const done = Array.from({ length: PEOPLE }, () => 0);
  const person = async (n: number, many: number): Promise<void> => {
    const from = done[n] ?? 0;
    done[n] = from + many;
    for (let turn = from; turn < from + many; turn++) await turnOf(server, `p${n}`, turn);
  };
  try {
    await ready(agent, port, subject);
    return await measureTurns(subject, options, async (many) => {
      const each = Array.from({ length: PEOPLE }, (_, n) => Math.floor(many / PEOPLE) + (n < many % PEOPLE ? 1 : 0));
      if (options.count) for (const [n, own] of each.entries()) await person(n, own);
      else await Promise.all(each.map((own, n) => person(n, own)));
    });
  } finally {
    agent.destroy();
  }
}

async function ready(agent: Agent, port: number, { child }: Subject): Promise<void> {
  for (;;) {
    const answer = await exchange(agent, port, "GET", "/readyz").catch(() => undefined);
    if (answer?.status === 200) return;
    if (child.exitCode !== null) throw new Error(`serve ended with ${child.exitCode} before it was ready`);
    await sleep(20);
  }
}

function exchange(
  agent: Agent,
  port: number,
  method: string,
  path: string,
  body?: object,
): Promise<{ status: number | undefined; text: string }> {
  const text = body === undefined ? "" : JSON.stringify(body);
  const headers = {
    authorization: `Bearer ${TOKEN}`,
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
  };
  return new Promise((resolve, reject) => {
    const asked = request({ agent, host: "127.0.0.1", port, path, method, headers }, (response) => {
      const pieces: Buffer[] = [];
      response.on("data", (piece: Buffer) => pieces.push(piece));
      response.on("end", () => resolve({ status: response.statusCode, text: Buffer.concat(pieces).toString() }));
      response.on("error", reject);
    });
    asked.on("error", reject);
    asked.end(text);
  });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
