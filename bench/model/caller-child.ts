/**
 * Runs in its own process: the same conversations against the same server, in one of several ways. Prints the CPU time of a
 * turn, including everything the process did.
 */

import { openModels } from "../../src/adapters/models/open-models.ts";
import { callPiAi } from "../../src/adapters/models/pi-ai/pi-ai-call.ts";
import { openSqliteStore } from "../../src/adapters/store/sqlite/open-store.ts";
import { systemClock } from "../../src/adapters/system/system-clock.ts";
import { systemIds } from "../../src/adapters/system/system-ids.ts";
import { parseConfig } from "../../src/config/parse-config.ts";
import { homePaths } from "../../src/config/paths.ts";
import type { Connector, ConnectorHost } from "../../src/core/ports/connector.ts";
import { silentLog } from "../../src/core/ports/log.ts";
import type { Model, ModelMessage } from "../../src/core/ports/model.ts";
import { AgentSystem } from "../../src/engine/agents/agent-system.ts";
import { testSettings } from "../../test/kit/settings.ts";

export type Way = "fetch" | "port" | "engine" | "library-completions" | "port-anthropic";

const [way = "port", port = "", home = "", people = "10", turns = "40"] = process.argv.slice(2);
const PEOPLE = Number(people);
const TURNS = Number(turns);
const WARM_UP = 8;
const SYSTEM = "You are measured.";

const provider = (api: string, path: string) =>
  `{ api: "${api}", baseUrl: "http://127.0.0.1:${port}${path}", models: [{ id: "m" }] }`;
const { config } = parseConfig({
  text: `{ models: { default: "c/m", providers: { c: ${provider("openai-completions", "/v1")}, a: ${provider("anthropic-messages", "")} } } }`,
  file: "bench",
  env: {},
});
const models = openModels({
  settings: { current: config },
  paths: homePaths(home),
  clock: systemClock,
  log: silentLog,
});

/** One turn: sends a message and reads the whole answer. */
type Turn = (person: number, n: number) => Promise<void>;

const said = (text: string): ModelMessage => ({ role: "user", content: [{ type: "text", text }] });

function throughModel(model: Model, name: string): Turn {
  const histories = Array.from({ length: PEOPLE }, (): ModelMessage[] => []);
  return async (person, n) => {
    const history = histories[person] ?? [];
    history.push(said(`word ${n} of ${person}`));
    let heard = 0;
    const result = await model.call(
      { model: name, system: SYSTEM, messages: history, tools: [], sessionId: `s${person}`, tries: 1 },
      new AbortController().signal,
      () => {
        heard += 1;
      },
    );
    if (result.error || heard === 0) throw new TypeError(result.error?.message ?? "the model sent no events");
    history.push({
      role: "assistant",
      content: result.content,
      stopReason: "stop",
      api: result.api,
      provider: result.provider,
      model: result.model,
    });
  };
}

/** The minimum that a program has to do: send the conversation, read the stream, parse every event. */
function throughFetch(): Turn {
  const histories = Array.from({ length: PEOPLE }, (): object[] => [{ role: "system", content: SYSTEM }]);
  return async (person, n) => {
    const history = histories[person] ?? [];
    history.push({ role: "user", content: `word ${n} of ${person}` });
    const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "m", stream: true, messages: history }),
    });
    const decoder = new TextDecoder();
    let rest = "";
    let text = "";
    for await (const part of response.body ?? []) {
      rest += decoder.decode(part, { stream: true });
      const events = rest.split("\n\n");
      rest = events.pop() ?? "";
      for (const event of events) {
        if (event === "data: [DONE]") continue;
        text += JSON.parse(event.slice(6)).choices[0]?.delta.content ?? "";
      }
    }
    history.push({ role: "assistant", content: text });
  };
}

/** The library alone, for the protocol that the port implements without it. */
function throughLibrary(): Turn {
  const model: Model = {
    async call(request, signal, onEvent) {
      const known = await models.providers.model("c/m");
      if (!known) throw new TypeError("no model");
      return await callPiAi(
        { clock: systemClock, fetch, userAgent: "rookery/bench" },
        { model: known, request, key: undefined, stallMs: 60_000, signal, onEvent },
      );
    },
  };
  return throughModel(model, "c/m");
}

async function throughEngine(): Promise<Turn> {
  const answered = new Map<string, () => void>();
  let host: ConnectorHost | undefined;
  const connector: Connector = {
    name: "bench",
    capabilities: { sendText: true },
    sendingClass: "idempotent",
    start: async (given) => {
      host = given;
    },
    stop: async () => {},
    health: () => ({ ok: true, detail: "" }),
    send: async ({ target }) => {
      answered.get(target.to ?? "")?.();
      return { status: "sent" };
    },
  };
  const system = new AgentSystem(
    {
      clock: systemClock,
      ids: systemIds(),
      log: silentLog,
      store: openSqliteStore({ home }),
      model: models.model,
      tools: { list: () => [], find: () => undefined },
      files: { write: async (name) => name, read: async () => undefined },
      connectors: new Map([[connector.name, connector]]),
    },
    {
      nodeName: "bench",
      // As many concurrent calls as with the port alone.
      settings: testSettings({ lanes: { main: PEOPLE } }),
      resolveModel: (agent) => ({ ...models.choose(agent), system: SYSTEM }),
    },
  );
  await system.load();
  await system.start();
  return async (person, n) => {
    const id = String(person);
    const answer = new Promise<void>((resolve) => answered.set(id, resolve));
    await host?.accept({
      connector: "bench",
      userId: id,
      channelId: id,
      messageId: String(n),
      text: `word ${n} of ${person}`,
      delivery: { channel: "bench", to: id },
      queue: { mode: "queue" },
    });
    await answer;
  };
}

const WAYS: Readonly<Record<string, () => Turn | Promise<Turn>>> = {
  fetch: throughFetch,
  port: () => throughModel(models.model, "c/m"),
  "port-anthropic": () => throughModel(models.model, "a/m"),
  "library-completions": throughLibrary,
  engine: throughEngine,
};

const turn = await (WAYS[way] ?? throughFetch)();
const converse = (from: number, until: number): Promise<unknown> =>
  Promise.all(
    Array.from({ length: PEOPLE }, async (_, person) => {
      for (let n = from; n < until; n++) await turn(person, n);
    }),
  );
await converse(0, WARM_UP);
const before = process.cpuUsage();
await converse(WARM_UP, WARM_UP + TURNS);
const { user, system } = process.cpuUsage(before);
console.log(
  JSON.stringify({
    cpuMs: (user + system) / 1000 / (PEOPLE * TURNS),
    residentMb: process.memoryUsage.rss() / 1_048_576,
  }),
);
process.exit(0);
