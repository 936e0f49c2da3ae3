import { describe, expect, it } from "vitest";
import type { AlwaysOffers } from "../../../engine/approvals/always-rules.ts";
import { type ApprovalAnswer, ApprovalPanel, type AskedApproval, QUIET_MS } from "./approval-panel.ts";
import { themeOf } from "./theme.ts";

const rule = (allow: string) => [{ person: "owner", allow }] as unknown as AlwaysOffers["call"];
const BOTH = { call: rule("call(web_fetch:3fa9)"), pattern: rule("web(domain:example.org)") };

/** A panel that has been there long enough, unless `shownFor` says less. */
function open(always: AlwaysOffers | undefined = BOTH, { shownFor = QUIET_MS, command = "git push origin" } = {}) {
  const answers: ApprovalAnswer[] = [];
  const approval = { id: "abcd", prompt: `exec\n  command: ${command}`, always } as unknown as AskedApproval;
  let now = 0;
  const typed = { text: "" };
  const panel = new ApprovalPanel({
    ...{ theme: themeOf({ NO_COLOR: "1", FORCE_PLAIN: "1" }), approval },
    answer: (answer) => answers.push(answer),
    rows: () => 20,
    isTyping: () => typed.text !== "",
    now: () => now,
  });
  now = shownFor;
  panel.render(80);
  return {
    answers,
    typed,
    text: (width = 80) => panel.render(width).join("\n"),
    press: (...keys: readonly string[]) => {
      // The input gets the other keys.
      for (const key of keys) if (!panel.handleKey(key)) typed.text += key;
      return answers;
    },
  };
}

const [ENTER, ESCAPE, LEFT, TAB] = ["\r", "\u001b", "\u001b[D", "\t"];
const ALWAYS = [LEFT, LEFT, ENTER];

describe("a question about a call", () => {
  it.each([
    [[ESCAPE], ["later"]],
    // Enter alone allows nothing.
    [[ENTER], ["later"]],
    [[LEFT, ENTER], ["no"]],
    [[LEFT, LEFT, LEFT, ENTER], ["yes"]],
    [[TAB, ENTER], ["yes"]],
    [ALWAYS, []],
    [[...ALWAYS, TAB, ENTER], ["call"]],
    [[...ALWAYS, TAB, TAB, ENTER], ["pattern"]],
    [[...ALWAYS, LEFT, ENTER], ["pattern"]],
    [[...ALWAYS, ENTER], []],
    [[...ALWAYS, ENTER, TAB, ENTER], ["yes"]],
    [[...ALWAYS, ESCAPE, ESCAPE], ["later"]],
  ])("answers %j with %j", (keys, answers) => {
    expect(open().press(...keys)).toEqual(answers);
  });

  it.each(["yesterday I pushed", "a", "n", "y", "Y", "later"])(
    "leaves %j to the input, Enter and arrows too",
    (text) => {
      const panel = open();
      expect(panel.press(...text, TAB, ENTER)).toEqual([]);
      expect(panel.typed.text).toBe(`${text}\t\r`);
      expect(panel.text()).toContain("Send or clear what you typed to answer.");
    },
  );

  it("takes no key and shows no answers when it has just appeared", () => {
    const panel = open(BOTH, { shownFor: QUIET_MS - 1 });
    expect(panel.press(TAB, ENTER)).toEqual([]);
    expect(panel.text()).not.toContain("yes, this once");
  });

  it("offers no yes if it does not fit, and says where to read it", () => {
    const panel = open(BOTH, { command: "x\n".repeat(30) });
    expect(panel.text()).toContain("rookery approvals show abcd");
    expect(panel.text()).not.toContain("yes,");
    expect(panel.press(TAB, ENTER)).toEqual(["no"]);
  });

  it("shows what would be stored before it is, or why nothing", () => {
    const both = open();
    both.press(...ALWAYS);
    expect(both.text()).toContain("exactly this call for owner");
    expect(both.text()).toContain("web(domain:example.org) for owner");
    const none = open({ call: { not: "No rule was stored: so." }, pattern: { not: "No." } });
    none.press(...ALWAYS);
    expect(none.text()).toContain("No rule was stored: so.");
    expect(none.press(TAB, ENTER, LEFT, LEFT, LEFT, ENTER)).toEqual(["yes"]);
  });

  it.each([40, 60, 100])("shows no control character at %s columns, and no rule that does not fit", (width) => {
    const always = { ...BOTH, pattern: rule(`web(${"漢字".repeat(600)}\u001b[2J)`) };
    const panel = open(always);
    panel.press(...ALWAYS);
    const lines = panel.text(width).split("\n");
    expect(lines.join("")).not.toContain("\u001b[2J");
    expect(lines.join("")).not.toContain("漢");
    expect(lines.length).toBeLessThan(20);
  });
});
