/**
 * Checks commands that the documentation shows, without executing them: `rookery …` and `npm start -- …` against the
 * registry with its flags, `npm run …` against package.json and the tools, `curl` and `METHOD /path` against the routes of the gateway.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runCli } from "../../src/app/cli/router.ts";
import { ROUTES } from "../../src/app/gateway/route-table.ts";
import { TOOLS } from "../tools.ts";
import { ROOT } from "./pages.ts";

/** The commands of a shell block. `console`: lines that begin with `$`, other lines are output. Continued lines are joined. */
export function commandsIn(language: string, text: string): readonly string[] {
  const lines = text.replaceAll("\\\n", " ").split("\n");
  const written = language === "console" ? lines.flatMap((line) => /^\$ (.*)$/.exec(line)?.[1] ?? []) : lines;
  return written.map(withoutComment).filter((line) => line !== "");
}

/** The problems of a line of shell, as sentences. Other programs are not checked. */
export async function problemsOf(line: string): Promise<readonly string[]> {
  const parts = line.split(/\s(?:&&|\|\||\||;)\s/);
  return (await Promise.all(parts.map((part) => problemsOfOne(wordsOf(part))))).flat();
}

async function problemsOfOne(words: readonly string[]): Promise<readonly string[]> {
  const [program, ...args] = words.filter((word, at) => !(at === 0 && /^[A-Z_]+=/.test(word)));
  if (program !== undefined && /^[A-Z_]+=/.test(program)) return problemsOfOne(args);
  switch (program) {
    case "rookery":
      return rookeryProblems(args);
    case "npm":
      return npmProblems(args);
    case "npx":
      if (args[0] === "rookery") return rookeryProblems(args.slice(1));
      return args[0] === "vitest"
        ? args
            .slice(2)
            .filter(isMissing)
            .map((path) => `${path} does not exist`)
        : [];
    case "curl":
      return args.filter((arg) => arg.startsWith("http://")).flatMap((url) => routeProblems(methodIn(args), url));
    default:
      return [];
  }
}

/** With `--help` a command line is parsed and its flags are checked, but nothing is executed. */
export async function rookeryProblems(args: readonly string[]): Promise<readonly string[]> {
  if (args.length === 0) return [];
  let errors = "";
  const code = await runCli([...args, "--help"], {
    env: {},
    stdin: () => process.stdin,
    stdout: { write: () => true },
    stderr: { write: (text) => (errors += text) },
  });
  return code === 0 ? [] : [`rookery ${args.join(" ")}: ${errors.trim().split("\n")[0]}`];
}

async function npmProblems([command, ...args]: readonly string[]): Promise<readonly string[]> {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { scripts: object };
  const name = command === "run" ? args[0] : command;
  if (name === undefined || ["ci", "install"].includes(name)) return [];
  if (!Object.hasOwn(scripts, name)) return [`npm has no script "${name}"`];
  if (name === "tool" && args[2] !== undefined)
    return Object.hasOwn(TOOLS, args[2]) ? [] : [`there is no tool "${args[2]}"`];
  return name === "start" && args[0] === "--" ? rookeryProblems(args.slice(1)) : [];
}

/** `path` may hold placeholders: `{agent}`, `<name>` or `:id` stand for one part of it. */
export function routeProblems(method: string | undefined, url: string): readonly string[] {
  const path = url.replace(/^https?:\/\/[^/]+/, "").replace(/[?#].*$/, "");
  const parts = path.split("/");
  const isRoute = ROUTES.some((route) => {
    const known = route.path.split("/");
    return (
      (method === undefined || route.method === method) &&
      known.length === parts.length &&
      known.every((part, at) => part.startsWith(":") || part === parts[at])
    );
  });
  return isRoute ? [] : [`the gateway has no route ${method ?? ""} ${path}`.replace("  ", " ")];
}

function methodIn(args: readonly string[]): string {
  const at = args.findIndex((arg) => arg === "-X" || arg === "--request");
  if (at >= 0) return args[at + 1] ?? "GET";
  return args.some((arg) => arg === "-d" || arg.startsWith("--data")) ? "POST" : "GET";
}

const isMissing = (path: string): boolean =>
  /^(?:src|test|bench|scripts)\b/.test(path) && !existsSync(join(ROOT, path));

/** A comment begins with `#` after a space or at the start of the line. */
const withoutComment = (line: string): string => line.replace(/(?:^|\s+)# .*$/, "").trim();

/** Splits a command into words. A quoted text is one word; nothing is expanded. */
function wordsOf(command: string): readonly string[] {
  return [...command.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)].map(([word]) => word.replace(/^(["'])(.*)\1$/s, "$2"));
}
