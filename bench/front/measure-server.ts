/** Measures one server of chat completions: its start, its memory, and what turns cost it. */
import { type ChildProcess, execFile } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { memoryMb, processorTime } from "../processes.ts";
import { median } from "../statistics.ts";
import type { Load, LoadOptions } from "./caller-child.ts";

export const TOKEN = "bench-token-0123456789abcdef";
const MAX_START_MS = 90_000;
const REST_MS = 28_000;

/** A server that has been spawned. */
export interface Server {
  readonly child: ChildProcess;
  /** Further processes that belong to it, such as its database. */
  readonly others?: readonly number[];
  readonly port: number;
  /** The name of its agent, for the field `model`. */
  readonly model: string;
}

export interface TurnLoad {
  /** The groups come one after the other, the people of a group at once. */
  readonly groups: number;
  readonly people: number;
  readonly turns: number;
}

export interface Figures {
  /** Milliseconds of processor time per turn: the process, its threads and its children. */
  readonly userMs: number;
  readonly systemMs: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly firstWordMs: number;
  /** After half a minute of rest. */
  readonly idleMb: number;
  readonly afterMb: number;
  /** From the start to the first byte of an answer, and to its end. */
  readonly acceptedMs: number;
  readonly answeredMs: number;
}

/** `begun`: when the server was spawned. */
export async function measureServer(server: Server, begun: number, load: TurnLoad): Promise<Figures> {
  const { child, others = [], port, model } = server;
  const pids = [child.pid ?? 0, ...others];
  const accepted = await firstAnswer(server);
  const answeredMs = performance.now() - begun;
  // At rest the memory of the start, and below that of the load, is released.
  await sleep(REST_MS);
  const idleMb = memoryMb(...pids);
  const loaded = (group: string, turns: number): Promise<Load> =>
    callers({ port, token: TOKEN, model, group, people: load.people, turns });
  await loaded("warm", Math.min(20, load.turns));
  const before = processorTime(...pids);
  const loads: Load[] = [];
  for (let n = 0; n < load.groups; n++) loads.push(await loaded(`g${n}-`, load.turns));
  await sleep(1_000);
  const after = processorTime(...pids);
  await sleep(REST_MS);
  const turns = loads.reduce((sum, one) => sum + one.turns, 0);
  const of = (name: keyof Load): number => median(loads.map((one) => one[name]));
  return {
    userMs: ((after.user - before.user) * 1_000) / turns,
    systemMs: ((after.system - before.system) * 1_000) / turns,
    perSecond: of("perSecond"),
    p50: of("p50"),
    p99: of("p99"),
    firstWordMs: of("firstWord"),
    idleMb,
    afterMb: memoryMb(...pids),
    acceptedMs: accepted - begun,
    answeredMs,
  };
}

async function callers(options: LoadOptions): Promise<Load> {
  const file = fileURLToPath(new URL("./caller-child.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [file, JSON.stringify(options)]);
  return JSON.parse(stdout) as Load;
}

/** Asks until there is an answer. Returns when its first byte came: the message is durable then. */
export async function firstAnswer({ child, port, model }: Server): Promise<number> {
  for (const end = performance.now() + MAX_START_MS; performance.now() < end; await sleep(5)) {
    if (child.exitCode !== null) throw new Error(`The server ended with ${child.exitCode}.`);
    const { status, firstByteAt } = await ask(port, { model, user: "first", text: "hi" });
    if (status === 200) return firstByteAt;
  }
  throw new Error("The server gave no answer.");
}

export interface Answer {
  /** 0: no connection, or it broke. */
  readonly status: number;
  readonly text: string;
  readonly firstByteAt: number;
}

export function ask(
  port: number,
  question: { readonly model: string; readonly user: string; readonly text: string; readonly id?: string },
): Promise<Answer> {
  const { model, user, text, id } = question;
  const body = JSON.stringify({ model, user, stream: true, messages: [{ role: "user", content: text }] });
  const headers = {
    authorization: `Bearer ${TOKEN}`,
    "content-type": "application/json",
    ...(id === undefined ? {} : { "idempotency-key": id }),
  };
  return new Promise((resolve) => {
    let answer = "";
    let firstByteAt = Number.NaN;
    const broken = (): void => resolve({ status: 0, text: answer, firstByteAt });
    const path = "/v1/chat/completions";
    const asked = request({ host: "127.0.0.1", port, path, method: "POST", headers }, (response) => {
      response.once("data", () => {
        firstByteAt = performance.now();
      });
      response.setEncoding("utf8").on("data", (piece: string) => {
        answer += piece;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text: answer, firstByteAt }));
      response.on("error", broken);
    });
    asked.on("error", broken);
    asked.end(body);
  });
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
