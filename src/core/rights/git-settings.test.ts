import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { readGitSettings } from "./git-settings.ts";

/** Lists the settings with git itself; undefined if it refuses the text. */
function readByGit(text: string): readonly string[] | undefined {
  const args = ["config", "--file", "-", "--list", "--null", "--no-includes"];
  const { status, stdout } = spawnSync("git", args, { input: text, encoding: "utf8" });
  if (status !== 0) return undefined;
  return stdout.split("\0").filter((one) => one !== "");
}

it.each<string>([
  "",
  "[core]\n\tfsmonitor = touch x\n",
  "[core]fsmonitor=touch x",
  "[core] fsmonitor = touch x ; comment\n# more\n;more\n\tpager=a",
  "[core]\n\tx = a \\\n[user]\n\tfsmonitor = b\n",
  "[core]\n\tx = a # \\\n[user]\n\tfsmonitor = b\n",
  '[core]\n\tx = "a # b" c\n',
  '[core]\n\tx = "a\n\tfsmonitor = b\n',
  '[core]\n\tx = a\\"\\t\\\\b\n',
  "[core]\n\tx = a\\q\n",
  '[Filter "LFS.x"]\n\tCLEAN = b\n',
  '[filter "a\\"]b"]\n\tclean = c\n',
  '[filter "a\\\nb"]\n\tclean = c\n',
  '[filter  "a" ]\n\tclean = c\n',
  "[filter.Mid]\n\tclean = c\n",
  "[core]\n\tbare\n\tx\n",
  "[core]\n\tbare #\n",
  "[core]\r\n\tbare = true\r\n\tx = a \r\n",
  "[core]\r\tbare = true\r\tx = a\n",
  "\uFEFF[core]\n\tbare = true\n",
  "[core]\n\t\fx = a\n",
  "[core]\n\tx = a\f\n",
  "x = a\n",
  "[]\nx = a\n",
  "[core\n]x = a\n",
  "[core]\n1x = a\n",
  "[core]\n-x = a\n",
  "[core]\nx_y = a\n",
  "[core]\nx y = a\n",
  "[core]\nx =\n",
  "[core]\nx = a\\",
  '[core ""]\nx = a\n',
  "[co re]\nx = a\n",
  "[a][b]x=1",
])("reads %j as git does", (text) => {
  const read = readGitSettings(text)?.map(({ key, value }) => `${key}\n${value}`);
  // Git writes a name without a value without its line.
  const known = readByGit(text)?.map((one) => (one.includes("\n") ? one : `${one}\ntrue`));
  expect(read).toEqual(known);
});
