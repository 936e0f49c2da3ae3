/** `rookery skills install` and `update`: shows what a skill would change, asks, and installs it as one change that can be undone. */

import { join } from "node:path";
import { readInstalled } from "../../../adapters/workspace/skills/installed-skills.ts";
import { textOf } from "../../../adapters/workspace/skills/skill-bundle.ts";
import { readSkill } from "../../../adapters/workspace/skills/skill-directory.ts";
import { createHome } from "../../../config/create-home.ts";
import type { InstallReport } from "../../../core/agent/skill-listing.ts";
import { ConflictError, NotFoundError, RookeryError, UsageError } from "../../../core/errors.ts";
import { listOf } from "../../../core/list.ts";
import { packagedDirectory } from "../../operations/skills/packaged-skills.ts";
import { type FetchedSkill, fetchSkill, sourceOf } from "../../operations/skills/skill-source.ts";
import { changing } from "../client/with-api.ts";
import { type CommandContext, defineAction } from "../command.ts";
import { confirmed } from "../confirm.ts";
import { EXIT } from "../exit-code.ts";
import { printResult } from "../print.ts";
import { reviewText } from "../skill-review.ts";

const REVIEW = {
  yes: { type: "boolean", description: "do not ask" },
  replace: { type: "boolean", description: "replace a skill that was changed by hand, or was not installed" },
} as const;

type Reviewing = CommandContext<typeof REVIEW>;

export const installAction = defineAction({
  summary: "install a skill from a directory, a tarball, a git repository or the package",
  description:
    "The skill is shown before it is installed into the home. It has no rights of its own. Sessions that have begun keep the skills they have until they are reset.",
  usage: "<source>",
  arguments: { min: 1, max: 1 },
  options: {
    skill: { type: "string", value: "NAME", description: "which one, if the source has several" },
    ref: { type: "string", value: "REF", description: "a branch or tag of the git repository" },
    ...REVIEW,
  },
  examples: [
    "rookery skills install daily-briefing",
    "rookery skills install ./weekly-report",
    "rookery skills install weekly-report.tar.gz --yes",
    "rookery skills install https://git.example.org/tea.git --skill tea",
  ],
  async run(context) {
    const [written = ""] = context.args;
    const { skill, ref } = context.flags;
    const packaged = packagedDirectory();
    const deps = { env: context.env, packaged };
    const fetched = await fetchSkill(sourceOf(written, { skill, ref }, deps), deps);
    const report = await reviewed(context, fetched);
    return printResult(context, report, toldOf(context, report));
  },
});

export const updateAction = defineAction({
  summary: "fetch installed skills again and show what has changed",
  description:
    "Without names: all that were installed. A skill that you have changed yourself is only replaced with --replace.",
  usage: "[skill] [skill…]",
  arguments: { min: 0, max: 50 },
  options: REVIEW,
  examples: ["rookery skills update", "rookery skills update weekly-report --yes"],
  async run(context) {
    const installed = readInstalled(context.paths);
    const isThere = async (name: string): Promise<boolean> =>
      (await readSkill(join(context.paths.home, "skills", name)).catch(() => new Map())) !== null;
    const names: string[] = [];
    for (const name of context.args.length > 0 ? context.args : Object.keys(installed)) {
      if (Object.hasOwn(installed, name) && (await isThere(name))) names.push(name);
      else if (context.args.length > 0)
        throw new NotFoundError(`The skill "${name.slice(0, 64)}" was not installed.`, {
          hint: context.here("Run `rookery skills list`."),
        });
    }
    const items: InstallReport[] = [];
    let failures = 0;
    for (const name of names) {
      const source = installed[name]?.source;
      if (!source || source.kind === "api") continue;
      try {
        const wanted = { ...source, skill: source.skill ?? nameFor(source.kind, name) };
        const fetched = await fetchSkill(wanted, { env: context.env, packaged: packagedDirectory() });
        const report = await reviewed(
          context,
          { ...fetched, source: { ...fetched.source, skill: source.skill } },
          name,
        );
        items.push(report);
        if (!context.json) context.stdout.write(`${toldOf(context, report)}\n`);
      } catch (error) {
        // The others do not wait for a source that is gone.
        if (names.length === 1 || !(error instanceof RookeryError) || error instanceof UsageError) throw error;
        failures += 1;
        context.stderr.write(`rookery: ${name}: ${error.message}\n`);
      }
    }
    if (context.json) printResult(context, listOf(items), "");
    else if (items.length + failures === 0) context.stdout.write("No installed skill can be updated.\n");
    return failures === 0 ? EXIT.ok : EXIT.failure;
  },
});

/** A source that had one skill may have more of them now. The package's skills are found by their directory. */
const nameFor = (kind: string, name: string): string | undefined => (kind === "package" ? undefined : name);

/** Asks about everything that changes. Returns with `change: null` if nothing does, or if the answer is no. */
async function reviewed(context: Reviewing, { files, source }: FetchedSkill, name?: string): Promise<InstallReport> {
  const given = [...files].map(([path, bytes]) => {
    const text = textOf(bytes);
    return text === undefined ? { path, base64: bytes.toString("base64") } : { path, text };
  });
  const { yes = false, replace = false } = context.flags;
  // It may be the first command of all.
  await createHome(context.paths);
  return changing(context, async (rookery) => {
    const tried = await rookery.skills.install(given, { source, dryRun: true });
    if (name !== undefined && tried.name !== name)
      throw new ConflictError(`${source.at} has the skill ${tried.name} now, not ${name}.`, {
        hint: "Nothing was changed.",
      });
    if (tried.before === tried.hash) return tried;
    if (!context.json) context.stderr.write(`${reviewText(tried, source)}\n`);
    if (tried.changedByHand && !replace)
      throw new ConflictError(`The skill ${tried.name} in the home was changed by hand, or was not installed.`, {
        hint: "Nothing was changed. Add --replace to replace it; `rookery config changes` can bring the old one back.",
      });
    const question = tried.before === null ? `Install ${tried.name}?` : `Replace ${tried.name}?`;
    if (!yes && !(await confirmed(context, question, "--yes"))) return tried;
    return rookery.skills.install(given, { source, replace, expect: tried.before });
  });
}

function toldOf({ here }: Pick<CommandContext, "here">, { name, hash, before, change }: InstallReport): string {
  if (before === hash) return `${name} is up to date.`;
  if (change === null) return `${name} was not changed.`;
  const done = before === null ? "Installed" : "Replaced";
  return here(
    `${done} ${name} (${hash.slice(0, 16)}). New sessions use it. Undo: \`rookery config changes undo ${change}\`.`,
  );
}
