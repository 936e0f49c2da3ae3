import { expect, it } from "vitest";
import { commandTables, loadCommands, readPage, withTables } from "./command-table.ts";

const commands = await loadCommands();

it("docs/cli.md has every command with its flags", () => {
  expect(withTables(readPage(), commands) === readPage(), "run npm run tool -- commands --write").toBe(true);
});

it("the tables of commands have a row for each action, in groups", () => {
  const tables = commandTables(commands);
  expect(tables).toContain("| `rookery people tokens remove <id>` |");
  expect(tables).toMatch(/^\| `rookery send \[text\]` \|.*`--lines`/m);
  expect(commandTables(new Map([...commands].filter(([name]) => name !== "send")))).not.toContain("rookery send");
});
