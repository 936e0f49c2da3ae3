/**
 * Lists everything that a home from elsewhere starts by itself or lets agents start, so that a person can say yes to it before it counts:
 * programs of the configuration, gates of jobs and tasks, wider rights of commands, and files outside the home that it reads.
 */
import { readdir } from "node:fs/promises";
import { cronTaskFiles, heartbeatTaskFiles } from "../../../adapters/workspace/task-files.ts";
import { profileWorkspaces } from "../../../adapters/workspace/workspaces.ts";
import { type Config, configSchema } from "../../../config/config-schema.ts";
import { inspectConfig } from "../../../config/load-config.ts";
import { type HomePaths, homePaths, resolvePath } from "../../../config/paths.ts";
import { Secret } from "../../../config/secret.ts";
import { DEFAULT_PROFILE } from "../../../core/agent/agent.ts";
import { silentLog } from "../../../core/ports/log.ts";
import { readCronTask } from "../../../engine/triggers/files/task-file.ts";
import { neededPackages } from "../../node/configured-connectors.ts";
import { HOME_PARTS } from "../data/home-parts.ts";
import { execLine, gateLine, quoted, ruleLines, storedPrograms } from "./stored-programs.ts";

interface UnpackedHome {
  /** Where it is now. */
  readonly at: string;
  /** Where it will be: paths of its configuration are meant from there. */
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export async function startedPrograms({ at, home, env }: UnpackedHome): Promise<readonly string[]> {
  const paths = homePaths(at);
  const { config: read, errors } = await inspectConfig(paths, env);
  const config = read ?? configSchema.parse({});
  const [error] = errors;
  return [
    ...(error ? [`rookery.json5 cannot be read, so what it starts is not known: ${quoted(error.message)}`] : []),
    ...configuredPrograms(config),
    ...foreignFiles(config, home),
    ...(config.cron.commandGates ? await taskGates(config, paths) : []),
    ...storedPrograms(paths.database),
    ...(await unknownParts(at)),
  ];
}

function configuredPrograms(config: Config): readonly string[] {
  const { mcp, models, sandbox, permissions, profiles } = config;
  return [
    ...Object.entries(mcp.servers).flatMap(([name, { enabled, command, args, sandbox: inside }]) => {
      const where = inside ? "in the sandbox" : "outside the sandbox (sandbox: false)";
      return enabled && command !== undefined
        ? [`mcp.servers.${name} starts ${quoted([command, ...args])} ${where}`]
        : [];
    }),
    ...Object.entries(models.providers).flatMap(([name, { cli }]) =>
      [cli?.command, cli?.resume].flatMap((argv) =>
        argv ? [`models.providers.${quoted(name)} starts ${quoted(argv)} outside the sandbox`] : [],
      ),
    ),
    ...(sandbox.kind === "auto" ? [] : [`commands run in the sandbox ${quoted(sandbox.kind)}${imageText(config)}`]),
    ...ruleLines("permissions.allow", (permissions.allow ?? []).map(ruleText)),
    ...Object.entries(profiles).flatMap(([name, profile]) => [
      ...execLine(`profiles.${quoted(name)}`, {
        ...{ execHost: profile.exec?.host, execSecurity: profile.exec?.security },
        ...{ execAsk: profile.exec?.ask, elevatedLevel: profile.exec?.elevated },
      }),
      ...ruleLines(`profiles.${quoted(name)}`, (profile.permissions?.allow ?? []).map(ruleText)),
    ]),
    ...neededPackages(config).map(({ name, version, use }) => `${use} loads the package ${name} ${version}`),
  ];
}

const ruleText = (rule: string | { readonly rule: string }): string => (typeof rule === "string" ? rule : rule.rule);

const imageText = ({ sandbox }: Config): string =>
  sandbox.dockerImage === undefined ? "" : ` with the image ${quoted(sandbox.dockerImage)}`;

/** Files and directories outside the home that the configuration names: their content may be sent anywhere. */
function foreignFiles(config: Config, home: string): readonly string[] {
  const isOutside = (path: string): boolean => !`${resolvePath(path, home)}/`.startsWith(`${home}/`);
  const workspaces = Object.entries(config.profiles).flatMap(([name, { workspace }]) =>
    workspace !== undefined && isOutside(workspace)
      ? [`profiles.${quoted(name)} works in the directory ${quoted(workspace)}`]
      : [],
  );
  const secrets = secretFiles(config, []).flatMap(({ key, file }) =>
    isOutside(file) ? [`${quoted(key)} is read from the file ${quoted(file)}`] : [],
  );
  return [...workspaces, ...secrets];
}

function secretFiles(value: unknown, path: readonly string[]): readonly { key: string; file: string }[] {
  if (value instanceof Secret) return value.file === undefined ? [] : [{ key: path.join("."), file: value.file }];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, child]) => secretFiles(child, [...path, name]));
}

async function taskGates(config: Config, paths: HomePaths): Promise<readonly string[]> {
  const workspaceOf = profileWorkspaces(config, paths);
  const workspaces = new Set([DEFAULT_PROFILE, ...Object.keys(config.profiles)].map(workspaceOf));
  const lines: string[] = [];
  for (const workspace of workspaces) {
    for (const { path, text } of await cronTaskFiles(workspace)) {
      lines.push(...gateLine(`the task ${quoted(path)}`, gateIn(text)));
    }
    for (const { id, gate } of await heartbeatTaskFiles(workspace, silentLog)) {
      lines.push(...gateLine(`the task ${quoted(`heartbeat/${id}.md`)}`, gate));
    }
  }
  return lines;
}

/** A task that cannot be read is not run. */
function gateIn(text: string) {
  try {
    return readCronTask(text).create.gate as Parameters<typeof gateLine>[1];
  } catch {
    return undefined;
  }
}

/** A person may keep keys in own files of the home, so an unknown file is not refused. */
async function unknownParts(at: string): Promise<readonly string[]> {
  const names = (await readdir(at)).sort().filter((name) => !Object.hasOwn(HOME_PARTS, name));
  return names.map((name) => `the home has ${quoted(name)}, which is not known to this program`);
}
