/** Texts on which a pattern that backtracks, or a function that reads a text again and again, needs more than linear time. */

/** What is repeated: single characters, pairs, and words that functions look for. */
const UNITS: readonly string[] = [
  ..." \t\n\r-/.,:;=&*_#@!?+|~^$%0aA{}[]()<>\"'`\\",
  ...["é", "e\u0301", "\u0301", "😀", "👨‍👩‍👧‍👦", "\ud800", "\u2028", "\u00a0", "\u0000"],
  ...[
    "a ",
    " a",
    "\r\n",
    "\n\n",
    "a\n",
    "ab",
    "a-",
    "a/",
    "a.",
    "a:",
    "a,",
    "0.",
    "//",
    "..",
    "\\\\",
    '\\"',
    '""',
    "''",
  ],
  ...[
    "{{",
    "}}",
    "{{a}}",
    "{{ ",
    "[[",
    "<a>",
    "</",
    "<!--",
    "-->",
    "/*",
    "*/",
    "&lt;",
    "%41",
    "\\u0041",
    "```\n",
    "# a\n",
  ],
  ...[
    "---\n",
    "- a\n",
    "- [ ] \n",
    "a: b\n",
    'a: "b"\n',
    "  a\n",
    "data: x\n",
    "data:",
    '{"a":',
    "[1,",
    '"a",',
    "key=v ",
  ],
  ...["<system_message", "</system_message>", "Findings:\n", "HEARTBEAT_OK ", "HEARTBEAT_OK", "NO_REPLY ", "NO_REPLY"],
  ...["/queue ", "/queue:", "/send ", "/compact ", "@a ", "agent:main:", ":thread:", "sk-ant-", "a@b.c ", "http://a/"],
  ...[
    "input token count ",
    "413 ",
    "retry in 5s ",
    "Please retry after ",
    "path/to/file.ts ",
    "./a/b ",
    "12:30 ",
    "1h",
  ],
];

/** How the repetition begins and ends: the end decides whether a pattern must try again from every place. */
const FRAMES: readonly (readonly [string, string])[] = [
  ["", ""],
  ["a", "!"],
  ["---\n", "\n---\nx"],
  ["/queue ", "x"],
  ["<system_message>", "</system_message>"],
];

export interface WorstText {
  readonly name: string;
  of(length: number): string;
}

export const WORST_TEXTS: readonly WorstText[] = UNITS.flatMap((unit) =>
  FRAMES.map(
    ([before, after]): WorstText => ({
      name: JSON.stringify(`${before}${unit}…${after}`),
      of: (length) => before + unit.repeat(Math.max(1, Math.floor(length / unit.length))) + after,
    }),
  ),
);
