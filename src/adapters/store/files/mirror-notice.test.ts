import { expect, test } from "vitest";
import { type MirrorNotice, noticeText } from "./mirror-notice.ts";

test.each<[MirrorNotice, readonly string[]]>([
  [{ kind: "torn-line", file: "f", bytes: 7 }, ["The last line of f was torn (7 bytes)", "kept in f.torn"]],
  [{ kind: "orphaned-lines", file: "f", aside: "g", line: 3, bytes: 7 }, ["f has lines from line 3 on", "moved to g"]],
  [{ kind: "orphaned-agent", file: "f", aside: "g" }, ["the agent in f", "moved to g"]],
  [{ kind: "other-database", synced: 5, last: 3 }, ["ends at change 3", "up to change 5"]],
  [{ kind: "unwritable-agent", agent: "a", reason: "no JSON" }, ["The agent a cannot be written", "no JSON"]],
])("a notice says what was found and where it is now: $kind", (notice, parts) => {
  for (const part of parts) expect(noticeText(notice)).toContain(part);
});
