/**
 * Telegram under `kill -9`: people write, edit, send albums and press Stop while the process is killed and the server has faults. The
 * server outlives the kills; what it was given and what it shows is compared with the store afterwards.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Random, randomOf } from "../../kit/random.ts";
import { FakeTelegram, type Fault, person, privateChat } from "../../telegram/fake-telegram.ts";
import { auditChannel } from "../channels/audit.ts";
import type { CrashOptions, CrashReport, CrashTarget } from "../target.ts";
import { startVictim, type Victim } from "../victim.ts";

const CHILD = new URL("./child.ts", import.meta.url);
const USERS = 30;
const KILLS_PER_REPORT = 10;

export interface TelegramCrashOptions extends CrashOptions {
  readonly mutation?: "send-again";
}

export const telegramTarget: CrashTarget = { name: "telegram", run: (options) => crashTelegram(options) };

/** What people did. */
interface World {
  readonly fake: FakeTelegram;
  readonly random: Random;
  readonly tokens: string[];
  readonly counts: Record<string, number>;
  readonly written: { readonly user: number; readonly id: number }[];
}

export async function crashTelegram({ kills, seed, say, mutation }: TelegramCrashOptions): Promise<CrashReport> {
  const fake = await new FakeTelegram().start();
  const home = mkdtempSync(join(tmpdir(), "rookery-crash-telegram-"));
  const world: World = { fake, random: randomOf(seed), tokens: [], counts: { kills: 0 }, written: [] };
  const start = async (): Promise<Victim> => {
    const victim = startVictim(CHILD, [home, fake.url, mutation ?? ""], () => {});
    if (!(await victim.said("up"))) throw new TypeError(`The engine ${victim.diedAlone() ?? "did not start"}`);
    return victim;
  };
  // The answer of the first send is lost: a send that is repeated without asking is shown twice.
  if (mutation) fake.fail("sendMessage", { cut: "after" });
  for (let kill = 0; kill < kills; kill++) {
    const victim = await start();
    const until = performance.now() + world.random.int(200, 3_000);
    while (performance.now() < until) {
      act(world);
      await sleep(world.random.int(20, 150));
    }
    await victim.kill();
    world.counts.kills = kill + 1;
    if ((kill + 1) % KILLS_PER_REPORT === 0)
      say(`${kill + 1} kills, ${world.tokens.length} messages, ${fake.sent.length} answers shown`);
  }
  say(`${kills} kills; waiting until everything is answered`);
  const last = await start();
  await fake.until(() => fake.pending === 0, 120_000);
  last.tell("end");
  await last.said("quiet");
  await last.over();
  const more = { drafts: fake.drafts.length, breaches: fake.breaches.length };
  const shown = fake.sent.map(({ text }) => text);
  const seen = { tokens: world.tokens, shown, counts: { ...world.counts, ...more } };
  const report = auditChannel(join(home, "rookery.db"), seen);
  await fake.close();
  if (report.problems.length === 0 || mutation) rmSync(home, { recursive: true, force: true });
  return report;
}

const count = ({ counts }: World, what: string): void => {
  counts[what] = (counts[what] ?? 0) + 1;
};

function token({ tokens }: World): string {
  const next = `⟦t${tokens.length}⟧`;
  tokens.push(next);
  return next;
}

/** One person does one thing. */
function act(world: World): void {
  const { fake, random, written } = world;
  const user = 100 + random.int(0, USERS - 1);
  const what = random.int(0, 19);
  if (what < 12) {
    written.push({ user, id: fake.say(user, `hello ${token(world)}`) });
    count(world, "texts");
  } else if (what < 14) {
    album(world, user);
  } else if (what < 16 && written.length > 0) {
    const one = written[random.int(0, written.length - 1)];
    if (one) fake.edit(one.user, one.id, `better ${token(world)}`);
    count(world, "edits");
  } else if (what === 16) {
    fake.say(user, `slow ${token(world)}`);
    count(world, "slow ones");
  } else if (what === 17) {
    const draft = fake.drafts.at(-1) as { chat_id: number; draft_id: number } | undefined;
    if (draft) fake.pressStop(draft.chat_id, draft.draft_id);
    count(world, "stops");
  } else {
    const faults: readonly Fault[] = [
      { cut: "after" },
      { cut: "before" },
      { answer: { code: 429, description: "Too Many Requests", parameters: { retry_after: 1 } } },
      { answer: { code: 502, description: "Bad Gateway" } },
      { garbage: true },
    ];
    fake.fail(random.int(0, 3) === 0 ? "getUpdates" : "sendMessage", faults[random.int(0, faults.length - 1)] as Fault);
    count(world, "faults");
  }
}

/** Two photos that were sent as one, in two updates. */
function album(world: World, user: number): void {
  const { fake } = world;
  const media_group_id = `album-${world.tokens.length}`;
  for (const n of [1, 2]) {
    const photo = [{ file_id: "none", file_unique_id: "u", width: 10, height: 10 }];
    const caption = `photo ${token(world)}`;
    fake.push({
      message: {
        message_id: fake.takeMessageId(),
        date: fake.now(),
        from: person(user),
        chat: privateChat(user),
        media_group_id,
        photo,
        caption,
        n,
      },
    });
  }
  count(world, "albums");
}
