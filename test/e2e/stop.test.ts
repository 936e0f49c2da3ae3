/** Stops real processes after every thread has started: the exit code, what is left in the home, and the next start (M49). */
import { once } from "node:events";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { pdfOf } from "../../src/adapters/files/samples.test-kit.ts";
import { callTool } from "./chat-kit.ts";
import { api, echo, type FakeModel, fakeModel, openaiClient, type Served, serve } from "./serving.ts";

const ROOT = join(import.meta.dirname, "../..");
const LIST_THREADS = join(ROOT, "test/kit/list-threads.ts");

/** The module of every thread that the sources start. */
function threadModules(): readonly string[] {
  const modules = globSync("src/**/*.ts", { cwd: ROOT }).flatMap((file) => {
    const source = readFileSync(join(ROOT, file), "utf8");
    return [...source.matchAll(/\bmodule: "(\.[^"]+)", from: import\.meta\.url/g)].map(
      ([, module = ""]) => `${posix.join(posix.dirname(file), module)}.ts`,
    );
  });
  return modules.sort();
}

let model: FakeModel;
let web: Server;
let scratch: string;
beforeAll(async () => {
  model = await fakeModel();
  scratch = mkdtempSync(join(tmpdir(), "rookery-stop-"));
  web = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end("<title>News</title><p>It rains.</p>");
  }).listen(0, "127.0.0.1");
  await once(web, "listening");
});
afterAll(async () => {
  web.closeAllConnections();
  web.close();
  await model.close();
  rmSync(scratch, { recursive: true, force: true });
});

/** A page of the web, then a message with a PDF, whose text is not the owner's, and one search. */
async function startEveryThread(served: Served, site: string): Promise<void> {
  model.script = (call) => {
    if (call.body.messages.at(-1)?.role === "tool") echo(call);
    else callTool(call, "web_fetch", { url: `http://${site}/` });
  };
  const data = `data:application/pdf;base64,${Buffer.from(pdfOf("Invoice 42")).toString("base64")}`;
  const file = { type: "file", file: { filename: "invoice.pdf", file_data: data } } as const;
  const text = { type: "text", text: "the dentist is on Friday" } as const;
  const { completions } = openaiClient(served.port).chat;
  await completions.create({ model: "main", messages: [{ role: "user", content: "What is new?" }] });
  model.script = echo;
  await completions.create({ model: "main", messages: [{ role: "user", content: [text, file] }] });
  expect(await found(served)).not.toEqual([]);
}

const found = async (served: Served): Promise<readonly unknown[]> =>
  ((await api(served, "/api/search?q=dentist")) as { items: unknown[] }).items;

const warnings = (home: string): readonly string[] =>
  readFileSync(join(home, "logs/rookery.log"), "utf8")
    .split("\n")
    .filter((line) => /"level":"(?:warn|error)"/.test(line));

it("ends with code 0 after every thread has started, and opens its home again without recovery", async () => {
  const threads = join(scratch, "threads.txt");
  const site = `127.0.0.1:${(web.address() as AddressInfo).port}`;
  const more = { network: { allowPrivate: [site] } };
  const served = await serve(model, { more, flags: ["--require", LIST_THREADS], env: { STARTED_THREADS: threads } });
  onTestFinished(() => void served.process.kill("SIGKILL"));
  await startEveryThread(served, site);
  const started = (): readonly string[] => readFileSync(threads, "utf8").trim().split("\n").sort();
  await expect.poll(started).toEqual(threadModules());

  served.process.kill("SIGTERM");
  expect(await once(served.process, "exit")).toEqual([0, null]);
  expect(served.errors()).toBe("");
  expect(existsSync(join(served.home, "rookery.pid"))).toBe(false);
  expect(existsSync(join(served.home, "rookery.db-wal"))).toBe(false);
  expect(JSON.parse(readFileSync(join(served.home, "mirror.json"), "utf8"))).toMatchObject({ clean: true });

  const again = await serve(model, { home: served.home });
  onTestFinished(() => again.stop());
  expect(await found(again)).not.toEqual([]);
  expect(again.errors()).toBe("");
  expect(warnings(served.home)).toEqual([]);
});
