import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { skillTool } from "../../tools/skills/skill-tool.ts";
import { findSkills, readText } from "./find-skills.ts";
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
    '---\n# a comment\nname: "brief"\ndescription: >-\n  Sums up\n  the day.\nlicense: MIT\nmetadata:\n  author: ann\nallowed-tools: read, grep\n---\nBody\n',
    "brief",
  );
  expect(read).toMatchObject({
    skill: {
      name: "brief",
      description: "Sums up the day.",
      license: "MIT",
      allowedTools: ["read", "grep"],
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
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => void parseSkill(`---\n${text}\n---\n`, "brief")));
});

it("shows the instructions and files of a skill, and nothing outside of it", async () => {
  const tool = skillTool({ skillsOf: async () => findSkills(places).skills, readText });
  const text = async (input: { name: string; file?: string }) => {
    const { content } = await tool.execute(input, { agent: {} } as never);
    return content.map((block) => (block.type === "text" ? block.text : "")).join();
  };
  expect(await text({ name: "triage" })).toMatch(
    /^Do triage\.\n\nFor this skill use no tools but: read, grep\. .*\n\nIts files.*: references\/rules\.md$/s,
  );
  expect(await text({ name: "triage", file: "references/rules.md" })).toBe("the rules");
  for (const file of ["linked.md", "../secret.md", "SKILL.md", "/etc/passwd"])
    await expect(text({ name: "triage", file })).rejects.toThrow("has no text file");
  await expect(text({ name: "none" })).rejects.toThrow("There is no skill");
  expect([tool.rights, tool.replay]).toEqual([[], "safe"]);
});

it("leaves out a skill that was written with untrusted text in context, and marks such a file of another", async () => {
  const marked = ({ name }: { name: string }) => name === "brief";
  const skillsOf = sessionSkills(
    ({ workspace }) => findSkills({ ...places, workspace }).skills,
    async () => places.workspace,
    marked,
  );
  const names = (await skillsOf({ id: "b", sessionId: "s" } as unknown as AgentRecord)).map(({ name }) => name);
  expect(names).not.toContain("brief");
  expect(names).toContain("triage");
  const tool = skillTool({
    skillsOf: async () => findSkills(places).skills,
    readText,
    isMarked: (_, file) => file === "references/rules.md",
  });
  const shown = await tool.execute({ name: "triage", file: "references/rules.md" }, { agent: {} } as never);
  expect(shown.untrusted).toEqual({ from: "file:references/rules.md" });
});

it("keeps the skills of a session until it is reset, and gives other people's agents none", async () => {
  const skillsOf = sessionSkills(
    ({ workspace }) => findSkills({ ...places, workspace }).skills,
    async () => places.workspace,
  );
  const agent = (sessionId: string, person?: string) => ({ id: "a", sessionId, person }) as unknown as AgentRecord;
  expect(await skillsOf(agent("one"))).toHaveLength(4);
  write("workspace/skills", "later", skill("later", "d"));
  expect(await skillsOf(agent("one"))).toHaveLength(4);
  expect(await skillsOf(agent("two", "owner"))).toHaveLength(5);
  expect(await skillsOf(agent("three", "telegram:9"))).toEqual([]);
});
