/**
 * `skill`: the instructions of a skill, or one of its files. It reads only, and gives no rights: what a skill asks for is judged as ever.
 * From then on the run has only the tools that the skill allows, of those it had.
 */
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { NotFoundError } from "../../../core/errors.ts";
import type { Tool } from "../../../core/ports/tool.ts";

const input = z.strictObject({
  name: z.string().max(64),
  file: z.string().max(200).optional().describe("One of its other files"),
});

interface SkillSource {
  readonly name: string;
  readonly directory: string;
  /** Of its `SKILL.md`. */
  readonly hash: string;
  readonly tools?: readonly string[];
}

interface SkillDeps {
  /** Those of the agent's session. */
  readonly skillsOf: (agent: AgentRecord) => Promise<readonly SkillSource[]>;
  /** Its instructions as they were when the session began; undefined if they are not kept any more. */
  readonly bodyOf: (skill: SkillSource) => Promise<string | undefined>;
  readonly readText: (path: string) => string | undefined;
  /** Whether a file was written while untrusted text was in context (M32). */
  readonly isMarked?: (directory: string, file: string, text: string) => boolean;
}

const MAX_FILES = 100;
const PART = /^[\w][\w. -]{0,99}$/;

export const skillTool = ({ skillsOf, bodyOf, readText, isMarked }: SkillDeps): Tool<z.infer<typeof input>> => ({
  name: "skill",
  description: "Shows the instructions of a skill. Read them before you do what the skill is for.",
  input,
  rights: [],
  replay: "safe",
  parallel: true,
  maxOutput: 40_000,
  async execute({ name, file }, { agent }) {
    const skill = (await skillsOf(agent)).find((each) => each.name === name);
    if (!skill) throw new NotFoundError(`There is no skill "${name.slice(0, 64)}".`);
    const files = filesOf(skill.directory);
    const narrows = skill.tools && { skill: name, tools: [...skill.tools] };
    if (file === undefined) {
      const body = await bodyOf(skill);
      if (body === undefined) {
        throw new NotFoundError(`The skill ${name} has changed since this session began.`, {
          hint: "It can be used in a new session: /new begins one.",
        });
      }
      return { content: [{ type: "text", text: shown(body, skill, files) }], narrows };
    }
    const text = files.includes(file) ? readText(join(skill.directory, file)) : undefined;
    if (text === undefined) throw new NotFoundError(`The skill ${name} has no text file "${file.slice(0, 200)}".`);
    const untrusted = isMarked?.(skill.directory, file, text) ? { from: `file:${file}` } : undefined;
    return { content: [{ type: "text", text }], untrusted, narrows };
  },
});

function shown(body: string, { tools, directory }: SkillSource, files: readonly string[]): string {
  return [
    body,
    tools
      ? `From now until you have answered, you have no tools but: ${tools.join(", ")}. It gives you no others.`
      : "",
    files.length > 0 ? `Its files, in ${directory}: ${files.join(", ")}` : "",
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

/** Regular files of the directory and of the directories in it, as paths. */
function filesOf(directory: string): readonly string[] {
  const inside = (path: string): readonly string[] => {
    try {
      return readdirSync(join(directory, path), { withFileTypes: true }).flatMap((entry) => {
        const at = path === "" ? entry.name : `${path}/${entry.name}`;
        if (!PART.test(entry.name)) return [];
        if (entry.isFile()) return at === "SKILL.md" ? [] : [at];
        return path === "" && entry.isDirectory() && !lstatSync(join(directory, at)).isSymbolicLink() ? inside(at) : [];
      });
    } catch {
      return [];
    }
  };
  return inside("").slice(0, MAX_FILES);
}
