import { expect, it } from "vitest";
import { chatCommandTable, commandTables, loadCommands, writtenPages } from "./command-table.ts";

const commands = await loadCommands();

it.each(writtenPages(commands))("has the commands of now in $file", ({ text, now }) => {
  expect(now === text, "run npm run tool -- commands --write").toBe(true);
});

it("has a row for each command in chats", () => {
  expect(chatCommandTable()).toContain(
    "| `/link` | a code that makes another account yours | the person of the conversation |",
  );
});

it("the tables of commands have a row for each action, in groups", () => {
  const tables = commandTables(commands);
  expect(tables).toContain("| `rookery people tokens remove <id>` |");
  expect(tables).toMatch(/^\| `rookery send \[text\]` \|.*`--lines`/m);
  expect(commandTables(new Map([...commands].filter(([name]) => name !== "send")))).not.toContain("rookery send");
});
