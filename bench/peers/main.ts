/**
 * `npm run tool -- compare-peers`: installs other programs from the registry, gives all of them the same model server and the same
 * Telegram server on this machine, and prints what each needs and what a kill does. The rounds alternate.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readCommandLine } from "../../test/kit/command-line.ts";
import { randomOf } from "../../test/kit/random.ts";
import { FakeTelegram } from "../../test/telegram/fake-telegram.ts";
import { type Figures, measureServer } from "../front/measure-server.ts";
import { printTable } from "../report.ts";
import { median } from "../statistics.ts";
import type { Installed } from "./install.ts";
import { killAll, killWhileAnswering, type Outcome } from "./kill-while-answering.ts";
import { install, PEERS, type Peer, type Place, type Prepared } from "./peers.ts";

const { values } = readCommandLine({
  name: "compare-peers",
  about: "Compares Rookery with OpenClaw, DBOS and Restate from the registry, on this machine.",
  options: {
    rounds: {
      kind: "count",
      least: 1,
      default: 3,
      about: "Rounds of turns and of kills; the order is reversed every round.",
    },
    turns: { kind: "count", least: 1, default: 20, about: "Turns of each of five people in a round." },
    kills: {
      ...{ kind: "count", least: 0, default: 2 },
      about: "Kills in a round. From the third within five minutes on OpenClaw pauses its channels.",
    },
    only: { kind: "texts", shown: "NAME", about: "One of the programs." },
  },
});

/** They write one after the other, so that nobody waits for another's turn. */
const PEOPLE = 5;
const ANSWER_MS = 400;

interface Column {
  readonly peer: Peer;
  readonly installed: Installed;
  readonly figures: Figures[];
  readonly outcomes: Outcome[];
  readonly problems: string[];
}

/** Programs that wait for the processor when a measurement ends. */
const loads: number[] = [];
const root = mkdtempSync(join(tmpdir(), "rookery-compare-"));
try {
  const peers = PEERS.filter(({ name }) => values.only?.includes(name) ?? true);
  const columns = peers.map((peer): Column => ({ peer, ...installed(peer), figures: [], outcomes: [] }));
  for (let round = 0; round < values.rounds; round++) {
    const order = columns.filter(({ problems }) => problems.length === 0);
    if (round % 2 === 1) order.reverse();
    for (const column of order) await measure(column, round);
  }
  print(columns);
} finally {
  rmSync(root, { recursive: true, force: true });
}

function installed(peer: Peer): { readonly installed: Installed; readonly problems: string[] } {
  console.log(`${peer.name}: installing ${peer.packages.join(", ")}`);
  try {
    return { installed: install(peer, root), problems: [] };
  } catch (error) {
    const none = { directory: "", mb: Number.NaN, packages: Number.NaN, files: Number.NaN };
    return { installed: none, problems: [`not installed: ${String(error)}`] };
  }
}

async function measure(
  { peer, installed: { directory }, figures, outcomes, problems }: Column,
  round: number,
): Promise<void> {
  try {
    const turn = await onHome(peer, directory, 0, undefined, async (prepared) => {
      const begun = performance.now();
      const server = await prepared.start();
      try {
        return await measureServer(server, begun, { groups: PEOPLE, people: 1, turns: values.turns });
      } finally {
        await killAll(server);
      }
    });
    figures.push(turn);
    loads.push(loadavg()[0] ?? 0);
    console.log(
      `${peer.name}, round ${round + 1}: ${(turn.userMs + turn.systemMs).toFixed(1)} ms of processor time per turn`,
    );
    if (values.kills === 0) return;
    const fake = await new FakeTelegram().start();
    try {
      const random = randomOf(`peers ${round}`);
      const outcome = await onHome(peer, directory, ANSWER_MS, fake, (prepared) =>
        killWhileAnswering(prepared, fake, { kills: values.kills, random }),
      );
      outcomes.push(outcome);
      loads.push(loadavg()[0] ?? 0);
      console.log(`${peer.name}, round ${round + 1}: ${JSON.stringify(outcome)}`);
    } finally {
      await fake.close();
    }
  } catch (error) {
    problems.push(`could not be driven: ${String(error)}`);
    console.error(`${peer.name}: ${String(error)}`);
  }
}

async function onHome<Result>(
  peer: Peer,
  directory: string,
  answerMs: number,
  telegram: Place["telegram"],
  use: (prepared: Prepared) => Promise<Result>,
): Promise<Result> {
  const home = mkdtempSync(join(root, "home-"));
  const file = fileURLToPath(new URL("./model-child.ts", import.meta.url));
  const model = spawn(process.execPath, [file, String(answerMs)], { stdio: ["ignore", "pipe", "inherit"] });
  let prepared: Prepared | undefined;
  try {
    const [first] = (await once(model.stdout, "data")) as [Buffer];
    const modelUrl = `http://127.0.0.1:${Number(first.toString())}/v1`;
    // PostgreSQL runs as another user than root.
    for (const path of [root, home]) chmodSync(path, 0o755);
    prepared = await peer.prepare({ home, installed: directory, modelUrl, telegram });
    return await use(prepared);
  } catch (error) {
    const log = join(home, "log");
    if (existsSync(log)) console.error(readFileSync(log, "utf8").split("\n").slice(-20).join("\n"));
    throw error;
  } finally {
    await prepared?.close?.();
    model.kill();
    if (existsSync(home)) rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

function print(columns: readonly Column[]): void {
  const load = `${Math.min(...loads).toFixed(0)} to ${Math.max(...loads).toFixed(0)} on ${availableParallelism()} cores`;
  console.log(`\nNode ${process.versions.node}; load of the machine ${load}; medians of ${values.rounds} rounds\n`);
  const turns = values.turns * PEOPLE;
  const row = (what: string, cell: (column: Column) => string): string[] => [
    what,
    ...columns.map((column) => column.problems[0] ?? cell(column)),
  ];
  const figure = (what: string, of: (figures: Figures) => number, digits: number): string[] =>
    row(what, ({ figures }) => median(figures.map(of)).toFixed(digits));
  const outcome = (what: string, of: (one: Outcome) => number): string[] =>
    row(what, ({ outcomes }) =>
      outcomes.length === 0 ? "–" : String(outcomes.reduce((sum, one) => sum + of(one), 0)),
    );
  printTable(
    ["", ...columns.map(({ peer }) => peer.name)],
    [
      ["version", ...columns.map(({ peer }) => peer.packages.join(" "))],
      figure("processor time per turn, ms", ({ userMs, systemMs }) => userMs + systemMs, 1),
      figure("first word, ms (p50)", ({ firstWordMs }) => firstWordMs, 0),
      figure("memory, idle, MB", ({ idleMb }) => idleMb, 0),
      figure(`memory after ${turns} turns, MB`, ({ afterMb }) => afterMb, 0),
      figure("start to the first answer, ms", ({ answeredMs }) => answeredMs, 0),
      row("installed, MB", ({ installed: { mb } }) => mb.toFixed(0)),
      row("packages / files", ({ installed: { packages, files } }) => `${packages} / ${files}`),
      outcome("kill -9, times", ({ kills }) => kills),
      outcome("messages accepted", ({ accepted }) => accepted),
      outcome("… answered once", ({ answeredOnce }) => answeredOnce),
      outcome("… not answered", ({ lost }) => lost),
      row("answers listed as unconfirmed", ({ outcomes }) =>
        outcomes.every((one) => one.unconfirmed === undefined)
          ? "–"
          : String(outcomes.reduce((sum, { unconfirmed = 0 }) => sum + unconfirmed, 0)),
      ),
      outcome("… answered twice", ({ answeredTwice }) => answeredTwice),
      row("from a start after a kill to the next answer, s", ({ outcomes }) =>
        (median(outcomes.flatMap(({ backMs }) => backMs)) / 1_000).toFixed(1),
      ),
    ],
  );
}
