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
  enabled: flag().default(mcpDefaults.enabled),
  /** The program of a local server, and its arguments. */
  command: text("the path or name of a program").optional(),
  args: list(z.string({ error: "expected a text" })).default([]),
  /** Variables of its environment. */
  env: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), secretSchema)
    .readonly()
    .default({}),
  /** The address of a remote server (streamable HTTP). */
  url: httpUrl().optional(),
  headers: z
    .record(z.string().regex(/^[A-Za-z0-9-]+$/), secretSchema)
    .readonly()
    .default({}),
  /** Whether the remote server wants a login: `rookery mcp login NAME`. */
  oauth: flag().optional(),
  /** Who this program is at the login server. Absent: it registers itself. */
  clientId: text("the id of a registered client").optional(),
  clientSecret: secretSchema.optional(),
  /** Where this program describes itself, for login servers that read it there. */
  clientMetadataUrl: z.url({ protocol: /^https$/, error: "expected an https address with a path" }).optional(),
  /** The profiles whose agents may use it. Absent: all. */
  profiles: list(text("the name of a profile")).optional(),
  /** Only these tools; without: all. */
  allow: patterns("tools").optional(),
  deny: patterns("tools").default([]),
  /** Tools that may be repeated after a crash: those that only read. */
  safe: patterns("tools").default([]),
  /** Whether a local server runs in the sandbox. */
  sandbox: flag().default(mcpDefaults.sandbox),
  /** What a local server in the sandbox may read, write and reach. */
  read: list(text("the path of a directory")).default([]),
  write: list(text("the path of a directory")).default([]),
  domains: list(text('a host such as "example.org" or "*.example.org"')).default([]),
  /** Whether a local server in the sandbox may open local sockets, as browsers do. */
  sockets: flag().default(mcpDefaults.sockets),
  timeoutSeconds: wholeNumber(1, 3_600).default(mcpDefaults.timeoutSeconds),
}).refine(({ command, url }) => (command === undefined) !== (url === undefined), {
  error: 'expected either "command" for a local server or "url" for a remote one',
});

export const mcpSchema = section({
  servers: z
    .record(z.string().regex(NAME, "expected a name of up to 32 letters, digits, dots and dashes"), serverSchema)
    .readonly()
    .default({}),
}).prefault({});

export type McpServerConfig = z.output<typeof serverSchema>;
