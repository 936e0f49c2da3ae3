/** `rookery doctor`: lists what the owner should check in this home. Each check reads and changes nothing. */
import { readFileSync } from "node:fs";
import { sharedBeforeFile } from "../../../config/paths.ts";
import { type CommandContext, defineAction } from "../command.ts";

interface Finding {
  readonly problem: string;
  /** What to do about it. */
  readonly advice: string;
}

type Check = (context: CommandContext) => Promise<readonly Finding[]> | readonly Finding[];

const CHECKS: readonly Check[] = [sharedWorkspace];

export const doctorCommand = defineAction({
  summary: "list what you should check in this home",
  description: "Reads and changes nothing. Exits with 1 if there is something to check.",
  async run(context) {
    const findings = (await Promise.all(CHECKS.map((check) => check(context)))).flat();
    const { json, stdout } = context;
    if (json) stdout.write(`${JSON.stringify({ findings })}\n`);
    else if (findings.length === 0) stdout.write("Nothing to check.\n");
    else for (const { problem, advice } of findings) stdout.write(`${problem.trimEnd()}\n  ${advice}\n`);
    return findings.length === 0 ? undefined : 1;
  },
});

/** What everyone shared before each person had an own directory. */
function sharedWorkspace({ paths }: CommandContext): readonly Finding[] {
  const file = sharedBeforeFile(paths);
  try {
    return [
      {
        problem: readFileSync(file, "utf8"),
        advice: `Move what belongs to others into ${paths.people}, then delete ${file}.`,
      },
    ];
  } catch {
    return [];
  }
}
