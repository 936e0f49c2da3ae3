import { describe, expect, it } from "vitest";
import type { AlwaysWidths } from "../../../engine/approvals/always-rules.ts";
import { type ApprovalAnswer, ApprovalPanel, type AskedApproval, QUIET_MS } from "./approval-panel.ts";
import { themeOf } from "./theme.ts";

const rule = (allow: string) => [{ person: "owner", allow }] as unknown as AlwaysWidths["call"];
const THREE = { call: rule("exec(git push origin)"), prefix: rule("exec(git push *)"), tool: rule("exec") };

/** A panel that has been there long enough, unless `shownFor` says less. */
function open(always: AlwaysWidths | undefined = THREE, shownFor = QUIET_MS) {
  const answers: ApprovalAnswer[] = [];
  const approval = {
    id: "abcd",
    tool: "exec",
    arguments: { command: "git push origin" },
    always,
  } as unknown as AskedApproval;
  let now = 0;
  const panel = new ApprovalPanel(
    themeOf({ NO_COLOR: "1", FORCE_PLAIN: "1" }),
    approval,
    (answer) => answers.push(answer),
    () => now,
  );
  now = shownFor;
  return {
    answers,
    text: (width = 80) => panel.render(width).join("\n"),
    press: (...keys: readonly string[]) => {
      for (const key of keys) panel.handleInput(key);
      return answers;
    },
  };
}

const [ENTER, ESCAPE, LEFT] = ["\r", "\u001b", "\u001b[D"];

describe("a question about a call", () => {
  it.each([
    [["y"], ["yes"]],
    [["Y"], ["yes"]],
    [["n"], ["no"]],
    [["l"], ["later"]],
    [[ESCAPE], ["later"]],
    // Enter alone allows nothing.
    [[ENTER], ["later"]],
    [[LEFT, ENTER], ["no"]],
    [["a"], []],
    [["a", "c"], ["call"]],
    [["a", "p"], ["prefix"]],
    [["a", "t"], ["tool"]],
    [["a", ENTER], []],
    [["a", "b", "y"], ["yes"]],
    [["a", ESCAPE, ESCAPE], ["later"]],
    // A key of the first page means nothing on the second.
    [["a", "y"], []],
    [["x", "c", "1"], []],
  ])("answers %j with %j", (keys, answers) => {
    expect(open().press(...keys)).toEqual(answers);
  });

  it("takes no key and shows no answers when it has just appeared", () => {
    const panel = open(THREE, QUIET_MS - 1);
    expect(panel.press("y", "a", "c", ENTER)).toEqual([]);
    expect(panel.text()).not.toContain("yes, this once");
  });

  it("shows the rule of each width before it is stored, the same rule once, and why a width has none", () => {
    const three = open();
    three.press("a");
    expect(three.text()).toMatch(/c this call\s+exec\(git push origin\) for owner/u);
    expect(three.text()).toMatch(/p this prefix\s+exec\(git push \*\) for owner/u);
    expect(three.text()).toMatch(/t this tool\s+exec for owner/u);
    const one = open({ call: rule("write"), prefix: rule("write"), tool: { not: "No rule was stored: so." } });
    one.press("a");
    expect(one.text()).toMatch(/c this call\s+write for owner/u);
    expect(one.text()).not.toContain("p this prefix");
    expect(one.text()).toContain("this tool: No rule was stored: so.");
    expect(one.press("p", "t")).toEqual([]);
  });

  it.each([40, 60, 100])("fits %s columns, whatever the arguments are", (width) => {
    const always = { ...THREE, call: rule(`exec(${"漢字".repeat(200)}\u001b[2J)`) };
    const panel = open(always);
    panel.press("a");
    const lines = panel.text(width).split("\n");
    expect(lines.join("")).not.toContain("\u001b[2J");
    expect(lines.length).toBeLessThan(20);
  });
});
