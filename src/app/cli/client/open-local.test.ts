/** A command that only reads gets the same answers from the lean reads as from the whole gateway. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../../config/load-config.ts";
import { homePaths } from "../../../config/paths.ts";
import { EngineApi } from "../../client/engine-api.ts";
import { OWNER_READS } from "../../gateway/reads/owner-reads.ts";
import { cliHome, TERMINAL } from "../cli.test-kit.ts";
import type { CommandContext } from "../command.ts";
import { openLocal, openReading } from "./open-local.ts";

const home = cliHome();

function contextOf(): CommandContext {
  const paths = homePaths(home.dir);
  const [env, stderr] = [{}, { write: () => true }];
  return { paths, env, stderr, loadConfig: () => loadConfig(paths, env) } as unknown as CommandContext;
}

async function bothAnswer(path: string): Promise<readonly unknown[]> {
  const answers = [];
  for (const open of [openReading, openLocal]) {
    const { transport, close } = await open(contextOf());
    const answer = await new EngineApi(transport).get<Record<string, unknown>>(path).catch((error) => error);
    answers.push(answer instanceof Error ? answer.message : { ...answer, startedAt: 0 });
    await close();
  }
  return answers;
}

describe("reads without the gateway", () => {
  it.each([
    ...OWNER_READS,
    "/api/agents?limit=2",
    "/api/agents?limit=0",
    "/api/agents?limit=501",
    "/api/agents?limit=1&limit=2",
    "/api/agents?after=x",
    "/api/agents?color=red",
    "/api/agents/unknown",
    "/api/nothing",
  ])("answer %s as the gateway does", async (path) => {
    const words = {
      models: { default: "anthropic/claude-sonnet-4-5" },
      connectors: { telegram: { token: { env: "T" } } },
    };
    writeFileSync(join(home.dir, "rookery.json5"), JSON.stringify(words));
    await home.make(TERMINAL);
    for (const user of ["ann", "bob"])
      await home.make({ type: "user", connector: "api", userId: user, channelId: user });
    await home.run("schedules", "add", "--name", "tea", "--every", "30m", "--message", "tea");
    const [lean, whole] = await bothAnswer(path);
    expect(lean).toEqual(whole);
  });

  it("answer the second page as the gateway does", async () => {
    for (const user of ["ann", "bob", "cid"]) {
      await home.make({ type: "user", connector: "api", userId: user, channelId: user });
    }
    const [first] = await bothAnswer("/api/agents?limit=2");
    const { next } = first as { next: string };
    const [lean, whole] = await bothAnswer(`/api/agents?limit=2&after=${next}`);
    expect(lean).toEqual(whole);
    expect(lean).toMatchObject({ items: [{ sessionKey: expect.stringContaining("cid") }], next: null });
  });
});
