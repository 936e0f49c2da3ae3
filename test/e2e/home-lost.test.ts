/** A home that is deleted, moved or replaced under a real serving process: nothing is acknowledged from then on. */
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import {
  agentOfUser,
  api,
  type FakeModel,
  fakeModel,
  openaiClient,
  type Served,
  serve,
  TOKEN,
  userMessage,
} from "./serving.ts";

let model: FakeModel;
let served: Served;
/** Holds the home, and what is moved out of it. */
let room: string;

// One home for all tests: each puts back what it takes away. The last one deletes it.
beforeAll(async () => {
  model = await fakeModel();
  room = mkdtempSync(join(tmpdir(), "rookery-lost-"));
  served = await serve(model, { at: join(room, "home") });
  await say("hello");
});
afterEach(() => {
  for (const name of readdirSync(room)) if (name !== "home") rmSync(aside(name), { recursive: true });
});
afterAll(async () => {
  await served.stop();
  await model.close();
  rmSync(room, { recursive: true, force: true });
});

const say = async (text: string): Promise<string | null | undefined> => {
  const answer = await openaiClient(served.port, { maxRetries: 0 }).chat.completions.create({
    model: "main",
    user: "ann",
    messages: userMessage(text),
  });
  return answer.choices[0]?.message.content;
};

interface Posted {
  readonly status: number;
  readonly body: { readonly error?: { readonly code: string; readonly message: string } };
}
async function post(agent: string, text: string): Promise<Posted> {
  const response = await fetch(`${served.url}/api/agents/${agent}/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ text }),
  });
  return { status: response.status, body: (await response.json()) as Posted["body"] };
}
const ready = async () => {
  const response = await fetch(`${served.url}/readyz`);
  return { status: response.status, body: await response.json() };
};
const inHome = (name: string): string => join(served.home, name);
const aside = (name: string): string => join(room, name);

/** Each loses the home or a file without which its messages would not be found again, and puts it back. */
const LOSSES: readonly { what: string; says: RegExp; lose: () => void; putBack: () => void }[] = [
  {
    what: "the home is moved away",
    says: /The home was deleted or moved away/,
    lose: () => renameSync(served.home, aside("away")),
    putBack: () => renameSync(aside("away"), served.home),
  },
  {
    what: "the home is replaced by an empty one",
    says: /The home was replaced/,
    lose() {
      renameSync(served.home, aside("away"));
      mkdirSync(served.home);
    },
    putBack() {
      rmSync(served.home, { recursive: true });
      renameSync(aside("away"), served.home);
    },
  },
  {
    what: "the database is replaced",
    says: /rookery\.db of the home was replaced/,
    lose() {
      cpSync(inHome("rookery.db"), aside("copy"));
      renameSync(inHome("rookery.db"), aside("away"));
      renameSync(aside("copy"), inHome("rookery.db"));
    },
    putBack: () => renameSync(aside("away"), inHome("rookery.db")),
  },
  ...["rookery.db", "rookery.db-wal", "rookery.lock"].map((name) => ({
    what: `${name} is moved away`,
    // A thread that opens the database at this moment makes a new log.
    says: new RegExp(
      `The file ${name} of the home was (deleted or moved away${name.endsWith("-wal") ? "|replaced" : ""})`,
    ),
    lose: () => renameSync(inHome(name), aside("away")),
    putBack: () => renameSync(aside("away"), inHome(name)),
  })),
];

describe("a home that is lost while the process runs", () => {
  it("no message is acknowledged, the error says why, and work continues when it is put back", async () => {
    const { id } = await agentOfUser(served, "ann");
    for (const { what, says, lose, putBack } of LOSSES) {
      expect(await ready(), what).toEqual({ status: 200, body: { ready: true } });
      const before = served.errors().length;
      lose();
      const posted = await Promise.all(Array.from({ length: 8 }, (_, n) => post(id, `refused ${n}`)));
      const notReady = await ready();
      putBack();
      for (const { status, body } of posted) {
        expect(status, what).toBe(503);
        expect(body.error, what).toMatchObject({ code: "store_lost", message: expect.stringMatching(says) });
      }
      expect(notReady, what).toEqual({ status: 503, body: { ready: false, reason: "store_lost" } });
      expect((await post(id, `after: ${what}`)).status, what).toBe(202);
      const errors = served.errors().slice(before);
      expect(errors.match(/^error: .*Nothing is accepted/gm), errors).toHaveLength(1);
    }
    const texts = JSON.stringify(await api(served, `/api/agents/${id}/messages`));
    for (const { what } of LOSSES) expect(texts).toContain(`after: ${what}`);
    expect(texts).not.toContain("refused");
  });

  it("a home that is put back is used again, with everything that was acknowledged, and the run under way ends", async () => {
    const held = Promise.withResolvers<() => void>();
    const { script } = model;
    model.script = (call) => (call.prompt.includes("slow") ? held.resolve(() => script(call)) : script(call));
    const slow = say("slow");
    const finish = await held.promise;
    renameSync(served.home, aside("away"));
    finish();
    const { id } = await agentOfUser(served, "ann");
    expect((await post(id, "lost")).status).toBe(503);
    expect((await ready()).status).toBe(503);
    renameSync(aside("away"), served.home);
    model.script = script;
    expect((await ready()).status).toBe(200);
    expect(await slow).toBe("echo: slow");
    expect(await say("back")).toBe("echo: back");
    const { items: messages } = (await api(served, `/api/agents/${id}/messages`)) as {
      items: { text: string; state: string }[];
    };
    const texts = JSON.stringify(messages);
    for (const text of ["hello", "slow", "back"]) expect(texts).toContain(text);
    expect(texts).not.toContain("lost");
  });

  it("a backup that replaces the home is not touched by the old process, and the next process uses it", async () => {
    served.process.kill("SIGTERM");
    await once(served.process, "exit");
    cpSync(served.home, aside("backup"), { recursive: true });
    served = await serve(model, { home: served.home });
    await say("after the backup");
    renameSync(served.home, aside("away"));
    cpSync(aside("backup"), served.home, { recursive: true });
    const { status, body } = await ready();
    expect(status).toBe(503);
    expect(body).toMatchObject({ reason: "store_lost" });
    await expect(say("refused")).rejects.toMatchObject({
      status: 503,
      message: expect.stringMatching(/was replaced.*Restart/s),
    });
    served.process.kill("SIGTERM");
    await once(served.process, "exit");
    expect(readFileSync(inHome("rookery.db")).equals(readFileSync(join(aside("backup"), "rookery.db")))).toBe(true);
    served = await serve(model, { home: served.home });
    expect((await ready()).status).toBe(200);
    expect(await say("again")).toBe("echo: again");
  });

  it("after the log alone was deleted, a stop in order saves everything that was acknowledged", async () => {
    const { id } = await agentOfUser(served, "ann");
    rmSync(inHome("rookery.db-wal"));
    expect((await post(id, "refused")).status).toBe(503);
    served = await served.restart();
    const { items: messages } = (await api(served, `/api/agents/${id}/messages`)) as { items: unknown[] };
    expect(JSON.stringify(messages)).toContain("hello");
    expect(JSON.stringify(messages)).not.toContain("refused");
  });

  it("messages that stream in while the home is deleted are acknowledged before the deletion or not at all", async () => {
    const { id } = await agentOfUser(served, "ann");
    let deleted = false;
    let acknowledged = 0;
    let refused = 0;
    const writer = async (): Promise<void> => {
      while (refused < 20) {
        const begunAfter = deleted;
        const { status } = await post(id, "again");
        if (status === 202) {
          acknowledged += 1;
          expect(begunAfter).toBe(false);
          if (acknowledged === 50) {
            rmSync(served.home, { recursive: true, maxRetries: 20 });
            deleted = true;
          }
        } else {
          expect(status).toBe(503);
          refused += 1;
        }
      }
    };
    await Promise.all([writer(), writer(), writer(), writer()]);
    expect(acknowledged).toBeGreaterThanOrEqual(50);
    expect((await ready()).status).toBe(503);
    // A stop in order does not recreate the home either.
    served.process.kill("SIGTERM");
    expect(await once(served.process, "exit")).toEqual([0, null]);
    expect(existsSync(served.home)).toBe(false);
  });
});
