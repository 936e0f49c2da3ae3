/**
 * What a command is about to do, for the gate (L13): each simple command of a line by itself, the files of its redirects, and
 * each secret that it gets. A line that cannot be split is named whole, with the reason.
 */
import { resolve } from "node:path";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { Effect } from "../../../core/rights/decide.ts";
import type { EffectDetail } from "../../../core/rights/effect-detail.ts";
import { splitShellLine } from "../../../core/rights/shell-line.ts";
import { directoriesOf } from "../files/allowed-path.ts";
import { pathDetail } from "../files/file-tool-deps.ts";
import { findRepositories, NO_REPOSITORIES } from "../files/repository-files.ts";
import type { ExecDeps } from "./exec-deps.ts";
import { onlyReadsWithGit, readsWithGit, whyGitStarts } from "./git-commands.ts";

export interface NamedCommand {
  readonly command: string | readonly string[];
  readonly cwd?: string;
  readonly secrets?: readonly string[];
}

export async function commandEffects(
  deps: Pick<ExecDeps, "disk" | "placesOf" | "maxDirectories">,
  agent: AgentRecord,
  { command, cwd = ".", secrets = [] }: NamedCommand,
): Promise<readonly Effect[]> {
  const { path: directory } = await pathDetail(deps, agent, { access: "read", path: cwd });
  const effect = (detail: EffectDetail): Effect => ({ action: "exec", rights: ["exec"], detail });
  return [
    ...(await detailsOf(deps, agent, command, directory)).map(effect),
    ...secrets.map((name): Effect => ({ action: "exec", rights: ["exec"], target: `secret:${name}` })),
  ];
}

async function detailsOf(
  deps: Pick<ExecDeps, "disk" | "placesOf" | "maxDirectories">,
  agent: AgentRecord,
  command: NamedCommand["command"],
  cwd: string,
): Promise<readonly EffectDetail[]> {
  const split = typeof command === "string" ? splitShellLine(command) : { parts: [command], redirects: [] };
  if ("unparsed" in split) return [{ kind: "unparsed", line: String(command), cwd, why: split.unparsed }];
  const found = readsWithGit(command)
    ? await findRepositories(directoriesOf(await deps.placesOf(agent)), deps.maxDirectories)
    : NO_REPOSITORIES;
  const overrides = onlyReadsWithGit(command);
  const commands = split.parts.map(
    (argv): EffectDetail => ({ kind: "command", argv, cwd, starts: whyGitStarts(argv, found, overrides) }),
  );
  const redirects = split.redirects.map(({ access, path }) =>
    pathDetail(deps, agent, { access, path: resolve(cwd, path) }),
  );
  return [...commands, ...(await Promise.all(redirects))];
}
