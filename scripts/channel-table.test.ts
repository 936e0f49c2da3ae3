import { expect, it } from "vitest";
import { CONNECTOR_KINDS } from "../src/config/connector-kinds.ts";
import { channelTable, readPage, withTable } from "./channel-table.ts";

it("the table of channels in docs/channels.md says what the connectors declare", () => {
  expect(withTable(readPage()) === readPage(), "run npm run tool -- channels --write").toBe(true);
  // A row for each kind, the pipe and the webhooks of mailboxes, below two lines of the head.
  expect(channelTable().trim().split("\n")).toHaveLength(CONNECTOR_KINDS.length + 2 + 2);
});
