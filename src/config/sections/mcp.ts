/** MCP servers whose tools agents may use. A server starts with its first use, in a sandbox, and stops when it is idle. */
import { z } from "zod";
import { secretSchema } from "../secret.ts";
import { flag, httpUrl, list, section, text, wholeNumber } from "../values.ts";

export const mcpDefaults = {
  enabled: true,
  sandbox: true,
  sockets: false,
  timeoutSeconds: 120,
} as const;

/** No underscore: `mcp__server__tool` must be read in one way. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9.-]{0,31}$/;
const patterns = (what: string) => list(text(`names of ${what}, * for any characters`));

const serverSchema = section({
  enabled: flag().default(mcpDefaults.enabled).describe("whether agents may use it"),
  command: text("the path or name of a program")
    .optional()
    .describe("the program of a local server; either this or `url`"),
  args: list(z.string({ error: "expected a text" }))
    .default([])
    .describe("the arguments of the program"),
  env: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), secretSchema)
    .readonly()
    .default({})
    .describe("variables of its environment; it gets no others of the engine but `PATH` and the language"),
  url: httpUrl().optional().describe("the address of a remote server"),
  headers: z
    .record(z.string().regex(/^[A-Za-z0-9-]+$/), secretSchema)
    .readonly()
    .default({})
    .describe("headers of each request to it"),
  oauth: flag().optional().describe("whether it wants a login: `rookery mcp login <name>`; false if it is not set"),
  clientId: text("the id of a registered client")
    .optional()
    .describe("the client that you have registered at its login server; without it Rookery registers itself"),
  clientSecret: secretSchema.optional().describe("the secret of that client"),
  clientMetadataUrl: z
    .url({ protocol: /^https$/, error: "expected an https address with a path" })
    .optional()
    .describe(
      "an `https` address where you describe the client, for login servers that read it there instead of registering it",
    ),
  profiles: list(text("the name of a profile"))
    .optional()
    .describe("the profiles whose agents may use it; all if it is not set"),
  allow: patterns("tools")
    .optional()
    .describe("the tools that are offered; `*` stands for any characters. All if it is not set"),
  deny: patterns("tools").default([]).describe("tools that are not offered"),
  safe: patterns("tools").default([]).describe("tools that may be repeated after a crash, because they only read"),
  sandbox: flag().default(mcpDefaults.sandbox).describe("whether a local server runs in the sandbox"),
  read: list(text("the path of a directory"))
    .default([])
    .describe("directories that it may read although they are hidden"),
  write: list(text("the path of a directory")).default([]).describe("directories that it may write"),
  domains: list(text('a host such as "example.org" or "*.example.org"'))
    .default([])
    .describe("hosts that it may reach; only with `srt`"),
  sockets: flag()
    .default(mcpDefaults.sockets)
    .describe("whether it may open local sockets, as browsers do; those of the system stay hidden"),
  timeoutSeconds: wholeNumber(1, 3_600)
    .default(mcpDefaults.timeoutSeconds)
    .describe("how many seconds a call may take without a sign of progress"),
}).refine(({ command, url }) => (command === undefined) !== (url === undefined), {
  error: 'expected either "command" for a local server or "url" for a remote one',
});

export const mcpSchema = section({
  servers: z
    .record(z.string().regex(NAME, "expected a name of up to 32 letters, digits, dots and dashes"), serverSchema)
    .readonly()
    .default({}),
})
  .prefault({})
  .meta({ description: "MCP servers whose tools agents may use, by name", page: "mcp.md" });

export type McpServerConfig = z.output<typeof serverSchema>;
