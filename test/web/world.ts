/** A served installation with something in every view, made through the API and by real runs of a scripted model. */
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "../../src/adapters/store/sqlite/open-store.ts";
import { systemIds } from "../../src/adapters/system/system-ids.ts";
import type { Op } from "../../src/core/store/change.ts";
import { api, type FakeModel, fakeModel, type ModelCall, type Served, serve, TOKEN } from "../e2e/serving.ts";

export interface World {
  readonly model: FakeModel;
  served: Served;
  /** Lets the answers that wait continue. */
  readonly release: () => void;
  close(): Promise<void>;
}

const MODEL = "qwen3-32b";
const MORE = {
  people: { records: { ann: { name: "Ann", role: "guest", grants: [{ ask: "write" }], accounts: ["telegram:42"] } } },
  budgets: { day: { dollars: 25 }, person: { tokens: 200_000 } },
};

export const ANSWER = `The build is **green** again.

| step | time |
| --- | --- |
| tests | 3 min |
| package | 20 s |

1. The flaky test waited for a clock; it now uses a virtual one.
2. \`npm run check\` is clean.

![tracker](https://evil.example/pixel.png)
`;

/** Escape codes, marks that turn the direction of text, scripts and links that must do nothing. */
export const HOSTILE = `Before \u001b[31mred\u001b[0m\u0007 after.

<script>document.title = "taken"</script><img src=x onerror="document.title='taken'">

[a link](javascript:document.title='taken') and <a href="data:text/html,x">another</a> <form><input name=x></form>
`;
/** Longer than what is shown as markdown. */
export const LONG = `begin ${"word ".repeat(11_000)}end`;

/** Prompts choose what the model does. */
export function script(waiting: Set<() => void>): (call: ModelCall) => void {
  return (call) => {
    const last = call.body.messages.at(-1);
    if (last?.role === "tool") return answer(call, "Done. I have written it down.");
    if (call.prompt.includes("Repeat this: ")) return answer(call, call.prompt.split("Repeat this: ")[1] ?? "");
    if (call.prompt.includes("write a note"))
      return callTool(call, "write", {
        path: "notes.md",
        content: call.prompt.split("wide: ")[1] ?? "- water the plants",
      });
    if (call.prompt.includes("what time")) return callTool(call, "current_time", {});
    if (call.prompt.includes("slowly")) {
      call.say("I am looking into it");
      waiting.add(() => answer(call, ", and here is the rest."));
      return;
    }
    if (call.prompt.includes("think hard")) return think(call, "First I look at both sides.", "Both are right.");
    if (call.prompt.includes("hostile")) return answer(call, HOSTILE);
    if (call.prompt.includes("bit by bit")) {
      call.say(`${LONG} so far`);
      waiting.add(() => answer(call, ", and here is the rest."));
      return;
    }
    if (call.prompt.includes("very long")) {
      call.say(LONG);
      return call.end();
    }
    answer(
      call,
      call.prompt.includes("build")
        ? ANSWER
        : `You said: ${call.prompt.replace(/^<system_message[^>]*>\[cron:\S+ [^\]]*\] ?/u, "").slice(0, 200)}`,
    );
  };
}

export function answer(call: ModelCall, text: string, ...used: readonly number[]): void {
  for (const piece of text.split(/(?<= )/)) call.say(piece);
  call.end(...used);
}

/** Thoughts, as several providers stream them, and then the answer. */
function think(call: ModelCall, thoughts: string, text: string): void {
  const choices = [{ index: 0, delta: { reasoning_content: thoughts }, finish_reason: null }];
  call.response.write(`data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, choices })}\n\n`);
  answer(call, text);
}

let calls = 0;
export function callTool(call: ModelCall, name: string, args: object): void {
  const id = `call_${++calls}`;
  const delta = {
    tool_calls: [{ index: 0, id, type: "function", function: { name, arguments: JSON.stringify(args) } }],
  };
  const chunk = (choice: object, more: object = {}): void => {
    call.response.write(
      `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: call.body.model, choices: [{ index: 0, ...choice }], ...more })}\n\n`,
    );
  };
  chunk({ delta, finish_reason: null });
  chunk(
    { delta: {}, finish_reason: "tool_calls" },
    { usage: { prompt_tokens: 1_250, completion_tokens: 40, total_tokens: 1_290 } },
  );
  call.response.end("data: [DONE]\n\n");
}

export async function startWorld(scriptOf = script): Promise<World> {
  const model = await fakeModel();
  const waiting = new Set<() => void>();
  model.script = scriptOf(waiting);
  const home = mkdtempSync(join(tmpdir(), "rookery-web-"));
  await beforehand(home);
  const world: World = {
    model,
    served: await serve(model, { at: home, modelId: MODEL, gateway: { publicUrl: "http://localhost:1" }, more: MORE }),
    release() {
      for (const go of waiting) go();
      waiting.clear();
    },
    async close() {
      world.release();
      await world.served.stop();
      await model.close();
    },
  };
  return world;
}

/** Adds what only time or a channel makes: strangers who want to be let in, a schedule that was missed while the process was off. */
async function beforehand(home: string): Promise<void> {
  mkdirSync(join(home, "workspace", "memory"), { recursive: true });
  writeFileSync(join(home, "workspace", "memory", "plants.md"), "# Plants\n\nThe ficus wants water on Mondays.\n");
  const now = Date.now();
  const stranger = (code: string, account: string, name: string) => ({
    ...{ code, account, channel: "telegram", name, at: now, toldAt: now },
  });
  const requests = [
    stranger("yurixa", "telegram:501", "Yuri"),
    stranger("nobody", "telegram:502", "Nobody"),
    stranger("spammy", "telegram:503", "Spammer"),
  ];
  const job = {
    ...{ id: "backup", name: "Nightly backup", enabled: true, createdAtMs: now, updatedAtMs: now },
    ...{ schedule: { kind: "every", everyMs: 86_400_000 }, sessionTarget: "main", wakeMode: "now" },
    ...{ payload: { kind: "agentTurn", message: "Back up." }, state: { nextRunAtMs: now + 86_400_000 } },
  };
  const slot = { jobId: "backup", slot: "1@1", revision: 1, dueAt: now - 7_200_000, count: 3, at: now };
  const store = openSqliteStore({ home });
  const ops = [
    { op: "fact.put", key: "pairing", value: JSON.stringify({ requests, links: [], blocked: [] }) },
    { op: "job.put", job },
    { op: "job.slot", slot: { ...slot, status: "skipped", reason: "missed" } },
  ] as readonly Op[];
  const done = await store.commit({ id: systemIds().change(), site: "test", at: now, ops });
  if (!done.ok) throw new Error(done.detail);
  await store.close();
}

export const send = (served: Pick<Served, "url">, user: string, text: string, more: object = {}) =>
  api(served, `/api/agents/${encodeURIComponent(`agent:main:api:dm:${user}`)}/messages`, {
    method: "POST",
    body: { text, sender: { id: user }, ...more },
  });

/** The owner's own text, in the main conversation. */
export const sendMain = async (served: Pick<Served, "url">, text: string) => {
  const { messages } = (await api(served, "/api/terminal/messages", {
    method: "POST",
    body: { user: "control-room", text },
  })) as {
    messages: { agentId: string; seq: number }[];
  };
  const [{ agentId, seq } = { agentId: "", seq: 0 }] = messages;
  return (await api(served, `/api/agents/${agentId}/messages/${seq}?waitSeconds=60`)) as {
    message: { agentId: string; runId?: string };
  };
};

/** A message of the guest, with the guest's own token. */
export async function sendAsAnn(served: Pick<Served, "url">, text: string): Promise<void> {
  const minted = (await api(served, "/api/tokens", {
    method: "POST",
    body: { name: "ann", scopes: ["chat"], person: "ann" },
  })) as { token: string };
  await fetch(`${served.url}/api/agents/${encodeURIComponent("agent:main:api:dm:ann")}/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${minted.token}`, "content-type": "application/json" },
    body: JSON.stringify({ text }),
  });
}

/** Adds conversations, a schedule and an agent before the tests look at them. */
export async function fill({ served }: World): Promise<void> {
  await sendMain(served, "Is the build green?");
  await sendMain(served, "what time is it?");
  for (const user of ["bob", "carla", "dora"]) await send(served, user, `Hello, this is ${user}.`, { waitSeconds: 60 });
  const job = {
    name: "Morning news",
    schedule: { kind: "cron", expr: "0 7 * * 1-5" },
    payload: { message: "What is new?" },
  };
  await api(served, "/api/cron", { method: "POST", body: job });
  await api(served, "/api/agents", {
    method: "POST",
    body: { name: "clerk", description: "Files things.", systemPrompt: "You file things." },
  });
}

export { TOKEN };
