/** Skills that agents cannot use, or whose content is not what was installed. */
import { homedir } from "node:os";
import { guardedFilesOf } from "../../../../adapters/workspace/guarded-workspace-files.ts";
import { openFileMarks } from "../../../../adapters/workspace/open-file-marks.ts";
import { listSkills } from "../../../../adapters/workspace/skills/list-skills.ts";
import { defineCheck } from "../check.ts";

export const skillsCheck = defineCheck({
  id: "skills",
  needs: ["config"],
  async check({ config, paths }) {
    const workspaces = guardedFilesOf(config, paths).roots;
    const skills = await listSkills({ paths, workspaces, userHome: homedir(), marks: openFileMarks(paths) });
    const findings = skills
      .filter(({ problems }) => problems.length > 0)
      .map(({ name, state, problems }) => ({
        level: state === "changed" ? ("problem" as const) : ("notice" as const),
        text: `The skill ${name}: ${problems.join("; ")}.`,
        help: `Look with \`rookery skills show ${name}\`; \`rookery skills update ${name} --replace\` brings the source's version.`,
      }));
    return { fine: "The skills are valid, and as they were installed.", findings };
  },
});
