/** `rookery skills`: instructions for one kind of work that agents find. Lists, shows, checks, installs, updates and removes them. */

import { statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, resolve } from "node:path";
import { guardedFilesOf } from "../../../adapters/workspace/guarded-workspace-files.ts";
import { openFileMarks } from "../../../adapters/workspace/open-file-marks.ts";
import { FILE } from "../../../adapters/workspace/skills/find-skills.ts";
import { checkedSkill } from "../../../adapters/workspace/skills/home-skills.ts";
import { listSkills } from "../../../adapters/workspace/skills/list-skills.ts";
import { textOf } from "../../../adapters/workspace/skills/skill-bundle.ts";
import { readSkill } from "../../../adapters/workspace/skills/skill-directory.ts";
import type { ListedSkill } from "../../../core/agent/skill-listing.ts";
import { NotFoundError } from "../../../core/errors.ts";
import { listOf } from "../../../core/list.ts";
import { sizeText } from "../../operations/size-text.ts";
import { packagedNames } from "../../operations/skills/packaged-skills.ts";
import { readTree } from "../../operations/skills/read-tree.ts";
import { chosenSkill } from "../../operations/skills/source-tree.ts";
import { changing } from "../client/with-api.ts";
import { type CommandContext, defineAction, type Group } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { oneLine, printable, timeText } from "../plain-text.ts";
import { printList, printResult } from "../print.ts";
import { installAction, updateAction } from "./skills-install.ts";

const list = defineAction({
  summary: "list the skills of all places, and warn of those that have changed",
  async run(context) {
    const items = await listed(context);
    const width = Math.max(0, ...items.map(({ name }) => name.length));
    const missing = packagedNames().filter((name) => !items.some((item) => item.name === name));
    const offer =
      missing.length === 0
        ? []
        : [`In the package: ${missing.join(", ")}. Install one with \`rookery skills install ${missing[0]}\`.`];
    return printList(context, {
      items,
      line: (item) =>
        [
          `${oneLine(item.name, 64).padEnd(width)}  ${stateText(item)}  ${oneLine(item.description, 100)}`,
          ...problemLines(item),
        ].join("\n"),
      empty: "There are no skills.",
      after: offer,
    });
  },
});

const show = defineAction({
  summary: "show a skill: where it is from, its files and its instructions",
  usage: "<skill>",
  arguments: { min: 1, max: 1 },
  options: { file: { type: "string", value: "PATH", description: "one of its files instead" } },
  async run(context) {
    const skill = await named(context, context.args[0] ?? "");
    const files = (await readSkill(skill.directory)) ?? new Map<string, Buffer>();
    const { file } = context.flags;
    const path = file ?? FILE;
    const bytes = files.get(path);
    if (!bytes)
      throw new NotFoundError(`The skill ${skill.name} has no file "${path.slice(0, 200)}".`, {
        hint: `It has: ${[...files.keys()].join(", ").slice(0, 500)}.`,
      });
    const text = textOf(bytes) ?? null;
    const parts = [...files].map(([name, { length }]) => ({ path: name, bytes: length }));
    const shown = text === null ? "It is not text." : printable(text).trimEnd();
    if (file !== undefined) return printResult(context, { name: skill.name, path, text }, shown);
    return printResult(
      context,
      { ...skill, files: parts, text },
      [...details(skill), ...parts.map((one) => `  ${oneLine(one.path, 200)}, ${sizeText(one.bytes)}`), "", shown].join(
        "\n",
      ),
    );
  },
});

const check = defineAction({
  summary: "check skills: the format, and whether they are as they were installed",
  description:
    "Without an argument: all of them. Exits with 1 if something is wrong. A directory is checked without installing it.",
  usage: "[skill or directory]",
  arguments: { min: 0, max: 1 },
  async run(context) {
    const [what] = context.args;
    const items =
      what === undefined ? await listed(context) : ((await ofDirectory(what)) ?? [await named(context, what)]);
    const wrong = items.filter(({ problems }) => problems.length > 0);
    const lines = items.map((item) =>
      [`${oneLine(item.name, 64)}: ${item.problems.length === 0 ? "fine" : "not fine"}`, ...problemLines(item)].join(
        "\n",
      ),
    );
    printResult(
      context,
      listOf(items.map(({ name, directory, problems }) => ({ name, directory, problems }))),
      lines.join("\n") || "There are no skills.",
    );
    return wrong.length === 0 ? EXIT.ok : EXIT.failure;
  },
});

const remove = defineAction({
  summary: "remove a skill of the home; the change can be undone",
  usage: "<skill>",
  arguments: { min: 1, max: 1 },
  async run(context) {
    const [name = ""] = context.args;
    const removed = await changing(context, (rookery) => rookery.skills.remove(name));
    return printResult(
      context,
      removed,
      context.here(`Removed ${removed.name}. Undo: \`rookery config changes undo ${removed.change}\`.`),
    );
  },
});

export const skillsCommand: Group = {
  summary: "list, show, check, install, update and remove skills",
  description: "A skill is a directory with instructions for one kind of work. It has no rights of its own.",
  actions: { list, show, check, install: installAction, update: updateAction, remove },
  fallback: "list",
};

async function listed({ paths, loadConfig }: CommandContext): Promise<readonly ListedSkill[]> {
  const { config } = await loadConfig();
  const workspaces = guardedFilesOf(config, paths).roots;
  return listSkills({ paths, workspaces, userHome: homedir(), marks: openFileMarks(paths) });
}

async function named(context: CommandContext, name: string): Promise<ListedSkill> {
  const found = (await listed(context)).filter((skill) => skill.name === name);
  const skill = found.find(({ used }) => used) ?? found[0];
  if (skill) return skill;
  throw new NotFoundError(`There is no skill "${name.slice(0, 64)}".`, { hint: "Run `rookery skills list`." });
}

/** Undefined if it is not a directory. */
async function ofDirectory(
  path: string,
): Promise<readonly Pick<ListedSkill, "name" | "directory" | "problems">[] | undefined> {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return undefined;
  try {
    const tree = readTree(path);
    const { name } = checkedSkill(await chosenSkill(tree));
    const own = basename(resolve(path));
    // Of the format: a copy by hand needs it. An installation makes the directory itself.
    const isElsewhere = name === own || !tree.sizes.has(FILE);
    return [
      { name, directory: path, problems: isElsewhere ? [] : [`name is "${name}", but the directory is "${own}"`] },
    ];
  } catch (error) {
    return [{ name: path, directory: path, problems: [(error as Error).message] }];
  }
}

const stateText = ({ state, used }: ListedSkill): string => (used ? state : "not used").padEnd(9);
const problemLines = ({ problems }: Pick<ListedSkill, "problems">): readonly string[] =>
  problems.map((one) => `  WARNING: ${oneLine(one, 500)}`);

function details({
  name,
  description,
  directory,
  source,
  hash,
  installedAt,
  tools,
  problems,
}: ListedSkill): readonly string[] {
  const from =
    source === null
      ? []
      : [
          `from: ${source.kind} ${oneLine(source.at, 300)}${source.ref ? ` at ${source.ref}` : ""}${source.commit ? `, commit ${source.commit}` : ""}`,
          `installed: ${timeText(installedAt ?? undefined)}`,
        ];
  return [
    `${name}: ${oneLine(description, 1_024)}`,
    `directory: ${oneLine(directory, 500)}`,
    ...from,
    ...(hash === null ? [] : [`content: ${hash}`]),
    `tools: ${tools === null ? "no limit of its own" : oneLine(tools.join(", "), 500)}`,
    ...problemLines({ problems }),
    "files:",
  ];
}
