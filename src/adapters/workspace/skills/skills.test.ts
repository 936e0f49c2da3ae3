import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { anyText } from "../../../../test/kit/any-text.ts";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { skillTool } from "../../tools/skills/skill-tool.ts";
import { findSkills, readText } from "./find-skills.ts";
import { keptBody, skillTexts } from "./kept-skills.ts";
import { parseSkill } from "./parse-skill.ts";
import { sessionSkills } from "./session-skills.ts";

const root = mkdtempSync(join(tmpdir(), "rookery-skills-"));
const places = { workspace: join(root, "workspace"), home: join(root, "home"), userHome: join(root, "user") };
const write = (place: string, name: string, text: string): void => {
  mkdirSync(join(root, place, name), { recursive: true });
  writeFileSync(join(root, place, name, "SKILL.md"), text);
};
const skill = (name: string, description: string, more = ""): string =>
  `---\nname: ${name}\ndescription: ${description}\n${more}---\n\nDo ${name}.\n`;
beforeAll(() => {
  write("workspace/skills", "brief", skill("brief", "the workspace's"));
  write("home/skills", "brief", skill("brief", "the home's"));
  write("home/skills", "triage", skill("triage", "sorts mail", "allowed-tools: read grep\n"));
  write("workspace/.agents/skills", "report", skill("report", "writes reports"));
  write("user/.agents/skills", "more", skill("more", "of the user"));
  write("user/.agents/skills", "wrong", skill("other", "has another name"));
  mkdirSync(join(root, "home/skills/triage/references"));
  writeFileSync(join(root, "home/skills/triage/references/rules.md"), "the rules");
  writeFileSync(join(root, "secret.md"), "secret");
  symlinkSync(join(root, "secret.md"), join(root, "home/skills/triage/linked.md"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

it("finds skills in four places, the workspace first, and says what is wrong with a broken one", () => {
  const { skills, broken } = findSkills(places);
  expect(skills.map(({ name, description }) => [name, description])).toEqual([
    ["brief", "the workspace's"],
    ["more", "of the user"],
    ["report", "writes reports"],
    ["triage", "sorts mail"],
  ]);
  expect(broken).toEqual([
    {
      directory: join(root, "user/.agents/skills/wrong"),
      problems: [expect.stringContaining('the directory is "wrong"')],
    },
  ]);
});

it("reads the head: quotes, folded texts, comments; and refuses what the format does not allow", () => {
  const read = parseSkill(
    '---\n# a comment\nname: "brief"\ndescription: >-\n  Sums up\n  the day.\nlicense: MIT\nmetadata:\n  author: ann\nallowed-tools: read, grep Bash(git push *)\n---\nBody\n',
    "brief",
  );
  expect(read).toMatchObject({
    skill: {
      name: "brief",
      description: "Sums up the day.",
      license: "MIT",
      allowedTools: ["read", "grep", "Bash(git push *)"],
      body: "Body",
    },
  });
  for (const [text, problem] of [
    ["no head", "does not begin"],
    [skill("Brief", "d"), "lower-case"],
    [skill("a--b", "d"), "single dashes"],
    [skill("brief", ""), "description"],
    [skill("brief", "x".repeat(1_025)), "description"],
    [skill("brief", "d", "rights: all\n"), 'unknown field "rights"'],
  ] as const)
    expect(JSON.stringify(parseSkill(text, "brief"))).toContain(problem.replaceAll('"', '\\"'));
  fc.assert(fc.property(anyText(), (text) => void parseSkill(`---\n${text}\n---\n`, "brief")));
});

const texts = skillTexts({ home: join(root, "kept") });
const sources = async () =>
  findSkills(places).skills.map(({ allowedTools, ...skill }) => ({ ...skill, tools: allowedTools }));
const deps = { skillsOf: sources, bodyOf: keptBody(texts), readText };
const sessions = (more: Partial<Parameters<typeof sessionSkills>[0]> = {}) =>
  sessionSkills({
    find: ({ workspace }) => findSkills({ ...places, workspace }).skills,
    workspaceOf: async () => places.workspace,
    texts,
    ...more,
  });
const agent = (sessionId: string, state: object = {}, person?: string) =>
  ({ id: "a", sessionId, state, person }) as unknown as AgentRecord;

it("shows the instructions and files of a skill, narrows the run to its tools, and shows nothing outside of it", async () => {
  const tool = skillTool(deps);
  const text = async (input: { name: string; file?: string }) => {
    const { content } = await tool.execute(input, { agent: {} } as never);
    return content.map((block) => (block.type === "text" ? block.text : "")).join();
  };
  expect(await text({ name: "triage" })).toMatch(
    /^Do triage\.\n\nFrom now until you have answered, you have no tools but: read, grep\. .*\n\nIts files.*: references\/rules\.md$/s,
  );
  expect(await text({ name: "triage", file: "references/rules.md" })).toBe("the rules");
  for (const file of [undefined, "references/rules.md"]) {
    const { narrows } = await tool.execute({ name: "triage", file }, { agent: {} } as never);
    expect(narrows).toEqual({ skill: "triage", tools: ["read", "grep"] });
  }
  expect((await tool.execute({ name: "brief" }, { agent: {} } as never)).narrows).toBeUndefined();
  for (const file of ["linked.md", "../secret.md", "SKILL.md", "/etc/passwd"])
    await expect(text({ name: "triage", file })).rejects.toThrow("has no text file");
  await expect(text({ name: "none" })).rejects.toThrow("There is no skill");
  expect([tool.rights, tool.replay]).toEqual([[], "safe"]);
});

it("leaves out a skill that was written with untrusted text in context, and marks such a file of another", async () => {
  const skills = sessions({ isMarked: ({ name }) => name === "brief" });
  const names = (await skills.of(agent("s"))).map(({ name }) => name);
  expect(names).not.toContain("brief");
  expect(names).toContain("triage");
  const tool = skillTool({ ...deps, isMarked: (_, file) => file === "references/rules.md" });
  const shown = await tool.execute({ name: "triage", file: "references/rules.md" }, { agent: {} } as never);
  expect(shown.untrusted).toEqual({ from: "file:references/rules.md" });
});

it("keeps the skills of a session until it is reset, also in another process, and gives other people's agents none", async () => {
  const first = sessions();
  const skillsSnapshot = await first.snapshotOf(agent("one"));
  expect(await first.of(agent("one"))).toHaveLength(4);
  write("workspace/skills", "later", skill("later", "d"));
  write("workspace/skills", "brief", skill("brief", "another text").replace("Do brief", "Do harm"));
  expect(await first.of(agent("one"))).toHaveLength(4);
  const second = sessions();
  const later = agent("one", { skillsSnapshot });
  expect(await second.of(later)).toEqual(skillsSnapshot?.skills);
  expect(await second.snapshotOf(later)).toBeUndefined();
  const tool = skillTool({ ...deps, skillsOf: second.of });
  const body = async (of: AgentRecord) =>
    JSON.stringify((await tool.execute({ name: "brief" }, { agent: of } as never)).content);
  expect(await body(later)).toContain("Do brief");
  expect(await body(agent("two"))).toContain("Do harm");
  expect(await second.of(agent("two", {}, "owner"))).toHaveLength(5);
  expect(await second.of(agent("three", { skillsSnapshot }, "telegram:9"))).toEqual([]);
  // A snapshot of another program is not used.
  expect(await second.of(agent("four", { skillsSnapshot: { prompt: "p" } }))).toHaveLength(5);
});

it("says that a skill has changed if the text of the session is not kept any more", async () => {
  const few = skillTexts({ home: join(root, "few") }, 1);
  const skills = sessions({ texts: few });
  const snapshot = await skills.snapshotOf(agent("one"));
  const gone = snapshot?.skills.find(({ name }) => name === "triage");
  rmSync(join(root, "few"), { recursive: true, force: true });
  expect(await keptBody(few)(gone as never)).toBe("Do triage.");
  write("home/skills", "triage", skill("triage", "changed"));
  const tool = skillTool({ ...deps, bodyOf: keptBody(few), skillsOf: async () => snapshot?.skills ?? [] });
  await expect(tool.execute({ name: "triage" }, { agent: {} } as never)).rejects.toThrow(
    "has changed since this session",
  );
});
