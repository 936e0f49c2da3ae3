import { execFileSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import { needs } from "../../../test/kit/needs.ts";
import { gateRunner } from "./gate-runner.ts";
import { outgoingHttp } from "./outgoing-http.ts";
import { AllowedAddresses } from "./public-address.ts";

const never = new AbortController().signal;
const http = outgoingHttp({ allowed: () => new AllowedAddresses(["127.0.0.1"]) });
const keeper = gateRunner({ commands: () => true, cwd: tmpdir(), http });
const command = (text: string, rest = {}) => keeper.check({ kind: "command", command: text, ...rest }, never);

test.each([
  ["echo three new mails", { pass: true, output: "three new mails" }],
  ["true", { pass: true, output: "" }],
  ["echo nothing new; exit 1", { pass: false, reason: "exit code 1: nothing new" }],
  ["no-such-program-here", { pass: false }],
])("the command %j decides by its exit code", async (text, expected) => {
  expect(await command(text)).toMatchObject(expected);
});

test("a command that takes too long is ended with everything it started, and does not pass", async () => {
  expect(await command("sleep 20 & sleep 20", { timeoutMs: 150 })).toEqual({ pass: false, reason: "took too long" });
});

test("a command's output is whole, also if many end at the same time", () => {
  // In a process of its own: the one of the tests sees the output before the end.
  const script = `
    const { gateRunner } = await import(${JSON.stringify(new URL("./gate-runner.ts", import.meta.url).href)});
    const { check } = gateRunner({ commands: () => true, cwd: "/", http: undefined });
    const ask = (n) => check({ kind: "command", command: "printf mail" }, new AbortController().signal);
    const rounds = [];
    for (let n = 0; n < 4; n++) rounds.push(...(await Promise.all(Array.from({ length: 25 }, ask))));
    console.log(JSON.stringify(rounds));`;
  const printed = execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
  expect(JSON.parse(printed)).toEqual(Array(100).fill({ pass: true, output: "mail" }));
});

test("a character of the output may come in two pieces", async () => {
  const half = "printf '\\303'; /bin/echo -n ''; printf '\\251'; /bin/echo -n ''; ";
  expect(await command(half.repeat(20))).toEqual({ pass: true, output: "é".repeat(20) });
});

test("a process that leaves the group of a command does not hold the gate up", needs("setsid"), async () => {
  const { output } = (await command("setsid sleep 600 & echo $!")) as { output: string };
  expect(process.kill(Number(output), "SIGKILL")).toBe(true);
});

test("a command works in the directory of the gate, else in that of the runner", async () => {
  expect(await command("pwd -P", { cwd: "/" })).toEqual({ pass: true, output: "/" });
  expect(await command("pwd -P")).toEqual({ pass: true, output: realpathSync(tmpdir()) });
});

test("a command gets no keys of our environment, and its output is limited", async () => {
  process.env.ROOKERY_TEST_KEY = "secret";
  expect(await command("echo [$ROOKERY_TEST_KEY] $GIVEN", { env: { GIVEN: "given" } })).toMatchObject({
    output: "[] given",
  });
  const { output } = (await command("yes | head -c 100000")) as { output: string };
  expect(output.length).toBeLessThanOrEqual(8_000);
});

test("a command does not pass if commands are not allowed", async () => {
  const strict = gateRunner({ commands: () => false, cwd: tmpdir(), http });
  expect(await strict.check({ kind: "command", command: "true" }, never)).toMatchObject({ pass: false });
});

let server: Server;
let base = "";
beforeAll(async () => {
  server = createServer(({ url }, response) => {
    response.statusCode = Number(url?.slice(1)) || 200;
    if (response.statusCode === 302) response.setHeader("location", "/200");
    response.end("two orders");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());

test.each([
  ["200", { pass: true, output: "two orders" }],
  ["299", { pass: true, output: "two orders" }],
  ["300", { pass: false, reason: "answered 300" }],
  ["204", { pass: false, reason: "nothing to do (204)" }],
  ["404", { pass: false, reason: "answered 404" }],
  ["302", { pass: false }],
])("the status %s of an address decides whether the gate passes", async (status, expected) => {
  expect(await keeper.check({ kind: "http", url: `${base}/${status}` }, never)).toMatchObject(expected);
});

test("an address that is not public does not pass, and nothing of its answer is shown", async () => {
  const strict = gateRunner({
    commands: () => true,
    cwd: tmpdir(),
    http: outgoingHttp({ allowed: () => new AllowedAddresses([]) }),
  });
  const verdict = await strict.check({ kind: "http", url: `${base}/200` }, never);
  expect(verdict).toMatchObject({ pass: false, reason: expect.stringContaining("not a public address") });
  expect(JSON.stringify(verdict)).not.toContain("two orders");
});

test("an address that does not answer does not pass", async () => {
  expect(await keeper.check({ kind: "http", url: "http://127.0.0.1:1/" }, never)).toMatchObject({ pass: false });
});
