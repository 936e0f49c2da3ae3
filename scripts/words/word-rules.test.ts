import { describe, expect, it } from "vitest";
import type { TextKind } from "./find-texts.ts";
import { brokenRules, WORD_RULES } from "./word-rules.ts";

const rulesFor = (kind: TextKind, text: string): readonly string[] =>
  brokenRules({ kind, text }).map(({ name }) => name);

/** For each rule sentences that break it, then sentences that come close and are right. */
const EXAMPLES: readonly (readonly [rule: string, kind: TextKind, bad: readonly string[], good: readonly string[]])[] =
  [
    [
      "clause-title",
      "title",
      [
        "of which nobody knows anything is the first error",
        "that fails is tried again",
        "what nobody holds is counted",
      ],
      ["offers a login", "whatever comes first wins", "rejects malformed ids", "thanks the sender"],
    ],
    [
      "clause-title",
      "group",
      ["whose an agent is", "what a person sees"],
      ["a lease that has ended", "on a whole machine"],
    ],
    [
      "fragment-title",
      "title",
      ["by a link to a file outside is denied", "for a child whose agent is unknown is not recorded"],
      ["by default, asks the owner", "for a guest, hides the path", "forgets a person", "totals tokens by agent"],
    ],
    [
      "clause-comment",
      "comment",
      ["Whose an agent is.", "What is kept after a restart.", "What the run answers is stored."],
      [
        "What you need to start:",
        "What is a lease?",
        "What happens next.",
        "What to do with an old file.",
        "Whatever fits.",
      ],
    ],
    [
      "clause-doc",
      "doc",
      ["What it sends is not repeated as the answer."],
      ["What you need", "what it does", "What is a lease?", "What you type is sent at once.", "What a message costs"],
    ],
    [
      "of-opening",
      "comment",
      ["Of one message.", "Of two requests the second one fails."],
      ["Of course it may fail.", "Of these, three are slow.", "Of the bindings that fit, the most exact one wins."],
    ],
    [
      "is-no",
      "text",
      ['"X" is no amount.', "a text that is none is left out", "a busy machine is no failure"],
      [
        "There is no such agent.",
        "If there was none, it waits.",
        "It is no longer needed.",
        "The limit is no more than ten.",
        "There is nothing to do.",
        "is not a number",
        "If no is no answer, ask again.",
      ],
    ],
    [
      "is-told",
      "comment",
      ["The agent is told.", "The next ones are then told.", "Unfinished work is ended and told."],
      [
        "They can be told apart.",
        "Unless told otherwise, it waits.",
        "It tells the caller.",
        "She called and told me.",
      ],
    ],
    [
      "old-word",
      "doc",
      ["The file is written anew.", "A user for whom it runs."],
      ["Who it runs for.", "Whoever has it can read it."],
    ],
    [
      "meanwhile",
      "comment",
      ["Calls that come meanwhile wait."],
      ["Meanwhile, the queue grows.", "In the meantime it waits."],
    ],
    [
      "goes-on",
      "doc",
      ["The run goes on after the answer.", "It can go on."],
      ["It goes on the stack.", "See what is going on.", "It then goes on to read the rest.", "It continues."],
    ],
    ["comes-again", "comment", ["The update comes again."], ["It comes back.", "Come and try again."]],
    [
      "passes-over",
      "comment",
      ["Passes over a text.", "A due time is passed over."],
      ["One pass over the text.", "A second pass over all rows.", "Requests pass over TLS.", "It passes the token."],
    ],
    [
      "stands",
      "doc",
      ["SQL stands in typed functions.", "what stands before the call"],
      [
        "X stands for any character.",
        "A stub stands in for the server.",
        "as it stands",
        "It does not stand in the way.",
      ],
    ],
    [
      "also-if",
      "comment",
      ["It waits, also if the store fails.", "Also when it is closed.", "tries again also if the lease is lost"],
      [
        "It is also in the index.",
        "It also fails if the disk is full.",
        "Also, it waits.",
        "It waits, even if the store fails.",
      ],
    ],
    [
      "of-which",
      "comment",
      ["A history of which nothing is left."],
      [
        "Three calls, each of which may fail.",
        "Two rows, one of which is new.",
        "Ten connections, of which four commit.",
        "A table, the rows of which are sorted.",
      ],
    ],
    [
      "is-to",
      "comment",
      ["The calls that the client is to execute.", "what is to be removed", "Nothing is to be changed."],
      [
        "Its only job is to compact.",
        "The goal is to be fast.",
        "The easiest way is to restart.",
        "It must be removed.",
      ],
    ],
    [
      "made-again",
      "comment",
      ["A home is not made again.", "It would make the record again."],
      ["The call is made again.", "It was made again and again.", "Makes the same call again."],
    ],
    ["split-clause", "title", ["writes a file again that someone changed"], ["reads it again, which is cheap"]],
    ["of-no-one", "title", ["an agent of no one has no files"], ["an agent that belongs to no one"]],
    [
      "so-many",
      "comment",
      ["True so many times in one second.", "At most so long.", "How much to keep: as much as wanted."],
      ["So many rows that the page is full.", "Not so many as before.", "As many as fit.", "Thanks so much."],
    ],
    [
      "nothing-of",
      "comment",
      ["Nothing of it is left.", "has nothing of what the model thought"],
      [
        "Nothing of that kind exists.",
        "Nothing often happens.",
        "It asks something of the person.",
        "None of it is left.",
      ],
    ],
    ["says-of", "title", ["says of each call how it ended"], ["says what is wrong", "a list that nobody knows of"]],
    [
      "kept-of",
      "comment",
      ["What the node keeps of people."],
      ["It is known by its id.", "Files are kept off the disk."],
    ],
    [
      "room",
      "doc",
      ["Inside a layer a room may import the rooms before it.", "The log gives its room back."],
      [
        "There is room for one more.",
        "Open the control room.",
        "Make room and start again.",
        "The import leaves room for more.",
      ],
    ],
    [
      "on-its-way",
      "comment",
      ["Everyone on the way of the call.", "People on its way are listed."],
      ["The answer is on its way.", "A person on the way to the office."],
    ],
    ["door", "doc", ["Every message enters by one door."], ["A door bell can be a channel.", "Indoors."]],
    ["beside", "title", ["answers beside a running engine"], ["keeps the tests beside the source"]],
    [
      "behind",
      "comment",
      ["It continues behind the last event.", "The position behind a sequence."],
      ["How far behind it is.", "A gateway behind a proxy.", "The rules behind the laws.", "Nothing is left behind."],
    ],
    [
      "signs",
      "comment",
      ["Any signs may follow."],
      ["It signs every request.", "It shows signs of load.", "A link signs you in."],
    ],
    [
      "brings",
      "doc",
      ["The platform brings the message again."],
      ["It brings the file up to date.", "A restart brings it back.", "Bring your own key along."],
    ],
    ["taken-for", "comment", ["It is not taken for dead."], ["It is taken for granted.", "The time taken for a call."]],
    [
      "hears",
      "doc",
      ["A caller hears what the agent does."],
      ["A model that it has never heard of.", "The heart beats."],
    ],
    ["is-of", "title", ["a message is of its chat"], ["tools are of the same type", "one of the messages is late"]],
    [
      "of-product",
      "doc",
      ["Connects a bot of Telegram.", "An error of SQLite."],
      ["The version of Node.", "One of WhatsApp's limits.", "Most of PostgreSQL.", "A Telegram bot."],
    ],
  ];

describe.each(EXAMPLES)("the rule %s on a %s", (rule, kind, bad, good) => {
  it.each(bad)("reports %j", (text) => {
    expect(rulesFor(kind, text)).toContain(rule);
  });

  it.each(good)("accepts %j", (text) => {
    expect(rulesFor(kind, text)).not.toContain(rule);
  });
});

it("has examples for every rule", () => {
  expect(new Set(EXAMPLES.map(([rule]) => rule))).toEqual(new Set(WORD_RULES.map(({ name }) => name)));
});

describe("correct sentences", () => {
  it.each([
    "As root, the install command needs no password.",
    "By default the owner is asked.",
    "In short, a message is stored first.",
    "The table in which it is stored.",
    "Accepts a message into an agent's inbox.",
    "A message with an id seen before is acknowledged and not stored twice (L1).",
    "Unknown model X. Run X to see the configured ones.",
    "Whichever comes first ends the wait.",
    "That is why it is stored first.",
    "Who can read it depends on the profile.",
  ])("break no rule: %s", (text) => {
    for (const kind of ["comment", "doc", "text"] as const) expect(rulesFor(kind, text)).toEqual([]);
  });

  it.each([
    "rejects malformed ids",
    "returns the first error if the outcome cannot be read",
    "without flags, removes all limits",
    "as root, skips the sandbox",
    "with a token, lists agents",
  ])("break no rule as a title: %s", (text) => {
    expect(rulesFor("title", text)).toEqual([]);
  });
});
