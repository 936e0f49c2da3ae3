/** The commands by task, the most used first, for the help: two columns of groups. A test fails for a command that is in none. */

type HelpGroup = readonly [title: string, commands: Readonly<Record<string, string>>];

/** With at most 25 letters about each command: the whole help is one screen. */
export const HELP_COLUMNS: readonly (readonly HelpGroup[])[] = [
  [
    [
      "talk and start",
      {
        chat: "talk in the terminal",
        send: "send a text from a script",
        demo: "see it survive a kill -9",
        setup: "choose model and channels",
        serve: "run agents and gateway",
        open: "open the control room",
        status: "cost, work and failures",
        doctor: "find and fix problems",
        help: "explain a command",
      },
    ],
    [
      "keep it running",
      {
        config: "settings; undo changes",
        backup: "make or restore a backup",
        engine: "service, update, logs",
      },
    ],
  ],
  [
    [
      "agents and their work",
      {
        agents: "list, add, stop, tree",
        sessions: "read and search talks",
        runs: "what agents did and why",
        schedules: "reminders and cron jobs",
        approvals: "say yes or no to a call",
        skills: "install, check and remove",
        mcp: "MCP servers and this one",
      },
    ],
    [
      "people, channels and models",
      {
        people: "rights, limits, tokens",
        permissions: "rules for tools",
        channels: "connect one, its outbox",
        models: "choose, test, keys, login",
        usage: "tokens, cost and budgets",
      },
    ],
  ],
];
