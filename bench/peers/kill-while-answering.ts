/**
 * People write to one peer in Telegram while all its processes are killed at once, again and again. Counts what they see: the Bot API
 * server of the tests outlives the kills.
 */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "../../test/kit/random.ts";
import type { FakeTelegram } from "../../test/telegram/fake-telegram.ts";
import type { Server } from "../front/measure-server.ts";
import { familyOf } from "../processes.ts";
import type { Prepared } from "./peers.ts";
import { tokenOf, tokensIn } from "./tokens.ts";

const PEOPLE = 6;
/** A person who gets no answer for so long writes the next message. The wait ends early when nobody writes any more. */
const PATIENCE_MS = 240_000;
const START_MS = 90_000;
const END_MS = 20_000;
/** After the last start nothing more is expected when no answer came for so long. */
const QUIET_MS = 180_000;

export interface Outcome {
  readonly kills: number;
  /** The peer took them from Telegram for good: they are not offered again. */
  readonly accepted: number;
  readonly answeredOnce: number;
  /** Not answered three minutes after the last sign of life. */
  readonly lost: number;
  readonly answeredTwice: number;
  /** Answers in the list of those that may or may not have been shown. Undefined: the peer keeps no such list. */
  readonly unconfirmed: number | undefined;
  /** Milliseconds from a start after a kill to the next answer that anyone gets. */
  readonly backMs: readonly number[];
}

export async function killWhileAnswering(
  peer: Prepared,
  fake: FakeTelegram,
  { kills, random }: { readonly kills: number; readonly random: Random },
): Promise<Outcome> {
  const answers = new Map<string, number>();
  const countAnswers = (): void => {
    answers.clear();
    for (const message of fake.sent.filter(({ deleted }) => !deleted))
      for (const token of tokensIn(message.text)) answers.set(token, (answers.get(token) ?? 0) + 1);
  };
  const said: string[] = [];
  let isWriting = true;
  const person = async (n: number): Promise<void> => {
    while (isWriting) {
      const token = tokenOf(said.length);
      said.push(token);
      fake.say(1_000 + n, `question ${token}`);
      await waitFor(() => answers.has(token) || !isWriting, PATIENCE_MS);
      await sleep(random.int(100, 1_000));
    }
  };
  const counting = setInterval(countAnswers, 50);
  const backMs: number[] = [];
  let server: Server | undefined;
  try {
    const start = async (): Promise<void> => {
      const begun = performance.now();
      const before = answers.size;
      server = await peer.start();
      if (await waitFor(() => answers.size > before, START_MS)) backMs.push(performance.now() - begun);
    };
    const people = Array.from({ length: PEOPLE }, (_, n) => person(n));
    await start();
    for (let n = 0; n < kills; n++) {
      await sleep(random.int(200, 3_000));
      if (server) await killAll(server);
      await start();
    }
    isWriting = false;
    await Promise.all(people);
    const isAnswered = (): boolean => said.every((token) => answers.has(token));
    for (let seen = -1; !isAnswered() && seen !== fake.sent.length; ) {
      seen = fake.sent.length;
      await waitFor(() => isAnswered() || fake.sent.length !== seen, QUIET_MS);
    }
    // An answer may still come a second time.
    await sleep(5_000);
    countAnswers();
  } finally {
    isWriting = false;
    clearInterval(counting);
    if (server) await killAll(server);
  }
  const times = said.map((token) => answers.get(token) ?? 0);
  return {
    kills,
    accepted: said.length - fake.pending,
    answeredOnce: times.filter((count) => count === 1).length,
    lost: times.filter((count) => count === 0).length - fake.pending,
    answeredTwice: times.filter((count) => count > 1).length,
    unconfirmed: peer.unconfirmed?.(),
    backMs: backMs.slice(1),
  };
}

/** `kill -9` for every process of a peer. Resolves when they are gone, and their ports are free. */
export async function killAll({ child, others = [] }: Server): Promise<void> {
  const pids = familyOf([child.pid ?? 0, ...others]).map(({ pid }) => pid);
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended already.
    }
  }
  await waitFor(() => pids.every((pid) => !existsSync(`/proc/${pid}`)), END_MS);
}

async function waitFor(holds: () => boolean, ms: number): Promise<boolean> {
  for (const end = performance.now() + ms; performance.now() < end; await sleep(20)) if (holds()) return true;
  return holds();
}
