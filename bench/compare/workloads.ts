/**
 * The compared workloads: turns through the command line and over HTTP, which are the same at every commit. Each workload
 * makes N turns to warm up, then 2N that are measured, so that the cost of starting cancels out.
 */
import { once } from "node:events";
import { existsSync } from "node:fs";
import { Agent, request } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { StatementCounts } from "./statement-counter.ts";
import { type Subject, startSubject, TOKEN } from "./subject.ts";

export interface Measured {
  readonly cpuMsPerTurn: number;
  /** Per turn. Only with the option `count`. */
  readonly counts?: StatementCounts;
}

export interface WorkloadOptions {
  /** Turns before the measurement; twice as many are measured. */
  readonly turns: number;
  /** Counts statements. Turns then come one after the other, so that the counts do not depend on what overlaps. */
  readonly count: boolean;
}

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
    async measure(root, { turns, count }) {
      const subject = startSubject(root, [pipeCommand(root), "--lines"], { count });
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
      return measureTurns(subject, turns, say);
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

async function measureTurns(subject: Subject, turns: number, say: (many: number) => Promise<void>): Promise<Measured> {
  try {
    await say(turns);
    const before = await subject.sample();
    await say(2 * turns);
    const after = await subject.sample();
    const perTurn = (name: keyof StatementCounts): number =>
      ((after.counts?.[name] ?? 0) - (before.counts?.[name] ?? 0)) / (2 * turns);
    return {
      cpuMsPerTurn: (after.cpuMs - before.cpuMs) / (2 * turns),
      counts: after.counts && {
        statements: perTurn("statements"),
        rows: perTurn("rows"),
        commits: perTurn("commits"),
        readerStatements: perTurn("readerStatements"),
      },
    };
  } finally {
    await subject.stop();
  }
}

interface Server {
  call(method: string, path: string, body?: object): Promise<void>;
}

async function overHttp(
  root: string,
  { turns, count }: WorkloadOptions,
  turnOf: (server: Server, person: string, turn: number) => Promise<void>,
): Promise<Measured> {
  const port = await freePort();
  const subject = startSubject(root, ["serve", "--port", String(port)], { count });
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
    return await measureTurns(subject, turns, async (many) => {
      const each = Array.from({ length: PEOPLE }, (_, n) => Math.floor(many / PEOPLE) + (n < many % PEOPLE ? 1 : 0));
      if (count) for (const [n, own] of each.entries()) await person(n, own);
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
