/** Answers of the owner by commands while an engine has open questions: the output for programs. */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { AgentId } from "../../core/ids.ts";
import { putQuestion } from "../gateway/approvals.test-kit.ts";
import { openTestGateway, type TestGateway } from "../gateway/gateway.test-kit.ts";
import { runCommand } from "./cli.test-kit.ts";
import { printsDocumentsOf } from "./command-document.test-kit.ts";
import { EXIT } from "./exit-code.ts";

let kit: TestGateway;
beforeAll(async () => {
  kit = await openTestGateway({ config: { gateway: { publicUrl: "http://localhost:1" } } });
});
afterAll(() => kit.close());

async function json(...argv: readonly string[]) {
  const { code, out, err } = await runCommand([...argv, "--json", "--home", kit.home]);
  expect([code, err]).toEqual([EXIT.ok, ""]);
  return JSON.parse(out);
}

async function failure(...argv: readonly string[]) {
  const { code, out, err } = await runCommand([...argv, "--json", "--home", kit.home]);
  return [code, out, JSON.parse(err).error.code];
}

it("approvals yes and no print the call as it is decided, once", async () => {
  const { agentId } = (await json("send", "hello", "--receipt")) as { agentId: AgentId };
  await kit.node.agents.settled();
  const { store, clock } = kit.node.ports;
  for (const id of ["kmtb", "kmtc"]) await putQuestion(store, clock.now(), { agentId, id });
  expect((await json("approvals", "list")).items).toHaveLength(2);
  const { code, err } = await runCommand(["approvals", "yes", "kmtb", "--home", kit.home]);
  expect([code, err]).toEqual([EXIT.usage, expect.stringContaining("rookery approvals show kmtb")]);
  expect(await failure("approvals", "yes", "kmtb", "--digest", "another")).toEqual([EXIT.failure, "", "conflict"]);
  const shown = await runCommand(["approvals", "show", "kmtb", "--home", kit.home]);
  expect(shown.out.trim().split("\n").at(-1)).toBe("To allow it: rookery approvals yes kmtb --digest digest-kmtb");
  expect(await json("approvals", "yes", "kmtb", "--digest", "digest-kmtb")).toMatchObject({
    id: "kmtb",
    state: "approved",
    decidedBy: "owner",
  });
  expect(await json("approvals", "no", "kmtc", "--reason", "late")).toMatchObject({ state: "denied", reason: "late" });
  expect(await failure("approvals", "no", "kmtb")).toEqual([EXIT.failure, "", "conflict"]);
});

it("people requests yes and no print the account, and the person it became", async () => {
  const arrive = (userId: string) =>
    kit.node.agents.pairing.entry({ connector: "telegram", userId, channelId: userId, peerKind: "dm", text: "" });
  for (const id of ["7", "8"]) await arrive(id);
  const { items } = await json("people", "requests", "list");
  const codeOf = (account: string) => items.find((one: { account: string }) => one.account === account).code as string;
  const person = (await json("people", "requests", "yes", codeOf("telegram:7"))).person;
  expect(person).toEqual(expect.any(String));
  expect(await json("people", "requests", "no", codeOf("telegram:8"))).toEqual({
    account: "telegram:8",
    person: null,
  });
  expect(await failure("people", "requests", "yes", codeOf("telegram:8"))).toEqual([EXIT.failure, "", "not_found"]);
});

it("people sign-out prints whose browser was signed out", async () => {
  const { link } = await json("people", "invite", "ann");
  const invitation = new URL(link).hash.slice("#invite=".length);
  const nonce = "n".repeat(32);
  const used = await kit.ask({ method: "POST", path: "/api/logins", token: null, body: { invitation, nonce } });
  expect(used.status).toBeLessThan(400);
  const [session] = (await json("people", "sessions", "ann")).items;
  expect(await json("people", "sign-out", session.id)).toEqual({ ended: session.id, person: "ann" });
  expect(await failure("people", "sign-out", session.id)).toEqual([EXIT.failure, "", "not_found"]);
});

printsDocumentsOf("approvals list", "approvals yes", "approvals no");
printsDocumentsOf(
  "people requests list",
  "people requests yes",
  "people requests no",
  "people sessions",
  "people sign-out",
);
